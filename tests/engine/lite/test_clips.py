"""The engine on real video: what is told there, and what must not be."""

import os
from pathlib import Path

import av
import pytest

from engine.lite.describer import Describer
from engine.lite.sentence import compose

FOLDER = os.environ.get("STREAM_TEST_CLIPS")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STREAM_TEST_CLIPS does not name a folder of clips")


@pytest.fixture
def captions(scene, reader):
    def of(name, every_s, count):
        describer = Describer(scene, reader, frames=8)
        said, due = [], float("-inf")
        with av.open(str(Path(FOLDER) / name)) as container:
            for frame in container.decode(video=0):
                if frame.time is not None and frame.time >= due - 1e-3:
                    said.append(compose(describer.look(frame.to_ndarray(format="rgb24"))))
                    due = frame.time + every_s
                if len(said) == count:
                    break
        return said

    return of


def test_a_counter(captions):
    first, *others = captions("da_cfr.mpeg", 0.5, 4)
    assert first == "Text reading '0' on a plain blue screen."
    assert others == ["The text now reads '30'.", "The text now reads '60'.", "The text now reads '96'."]


def test_a_camera_that_tilts(captions):
    said = captions("am_sample_edit_list_no_sync_frame_before_edit.mp4", 0.5, 5)
    assert said[1:] == ["The camera tilts down."] * 4


def test_a_camera_that_pans(captions):
    said = captions("am_hdr10-av1.mp4", 0.5, 9)
    assert said[4:] == ["The camera pans right."] * 5


def test_a_robot_arm_on_the_right(captions):
    said = captions("co_video_caption.mp4", 1.0, 5)
    assert said[1:] == ["Something moves on the right."] * 4


def test_a_fade_in(captions):
    said = captions("mb_rotate-buck-bunny.mp4", 0.5, 4)
    assert said[0] == "A black picture."
    assert said[2:] == ["The picture fades in."] * 2


def test_cuts(captions):
    said = captions("sk_bikes.mp4", 0.5, 20)
    scenes = [row for row, sentence in enumerate(said) if sentence.startswith("New scene")]
    assert scenes == [3, 6, 11, 15, 19]


def test_a_keyboard(captions):
    assert captions("de_video_90.mov", 1.0, 1) == ["A keyboard."]


def test_a_car_drives_on(captions):
    said = captions("co_action_cot_driving_scene.mp4", 1.0, 8)
    assert said[1:].count("The camera moves forward.") >= 5


def test_a_ball_on_its_own(captions):
    first, *others = captions("mp_transparent.webm", 0.5, 10)
    assert first == "A black picture with something red in the middle."
    assert all(sentence.startswith("Something moves ") for sentence in others)


def test_a_logo_on_black(captions):
    assert captions("am_bbb_2500ms.ts", 1.0, 1) == ["A black picture with something bright at the top left."]


def test_a_silhouette(captions):
    assert captions("am_sample_android_slow_motion.mp4", 0.5, 1) == ["A mostly green and black picture."]
