from pathlib import Path

import pytest

from cli.video.inputs import expand_inputs, is_url, natural_key, stem_of, unique_stems
from protocol.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("clip10.mp4", "clip2.MP4", "Clip1.mkv", "notes.txt", ".hidden.mp4"):
        (tmp_path / name).touch()
    (tmp_path / "folder.mp4").mkdir()
    return tmp_path


def test_arguments_keep_their_order() -> None:
    given = ["b.mp4", "-", "https://example.com/a.mp4?x=*", "a.mp4", "b.mp4"]
    assert expand_inputs(given) == given


def test_a_folder_gives_its_videos_in_natural_order(folder: Path) -> None:
    assert expand_inputs([str(folder)]) == [
        str(folder / name) for name in ("Clip1.mkv", "clip2.MP4", "clip10.mp4")
    ]


def test_a_glob_gives_what_matches_in_natural_order(folder: Path) -> None:
    assert expand_inputs([f"{folder}/*.mp4", "z.mp4"]) == [str(folder / "clip10.mp4"), "z.mp4"]
    assert expand_inputs([f"{folder}/[cC]lip*"]) == [
        str(folder / name) for name in ("Clip1.mkv", "clip2.MP4", "clip10.mp4")
    ]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "take[1].mp4"
    path.touch()
    assert expand_inputs([str(path)]) == [str(path)]


def test_a_missing_path_stays_so_that_others_go_on() -> None:
    assert expand_inputs(["nowhere.mp4"]) == ["nowhere.mp4"]


def test_what_no_path_can_be_stays_so_that_others_go_on() -> None:
    given = ["x" * 5000, "a/" + "y" * 300 + ".mp4", "nul\0", "http://u:p@[::1/x"]
    assert expand_inputs(given) == given


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no video file in this folder"):
        expand_inputs([str(tmp_path)])
    with pytest.raises(InputError, match="no file matches"):
        expand_inputs([f"{tmp_path}/*.mp4"])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("http://a/b.mp4", True),
        ("rtsp://user:pw@cam/1", True),
        ("C:/a.mp4", False),
        ("12:30.mp4", False),
        ("-", False),
    ],
)
def test_urls_are_told_by_their_scheme(text: str, answer: bool) -> None:
    assert is_url(text) is answer


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("a/b/clip.one.mp4", "clip.one"),
        ("-", "stdin"),
        ("https://user:pw@host/path/my%20clip.mp4?token=x", "my clip"),
        ("https://host/", "video"),
        ("http://u:p@[::1/x", "video"),
    ],
)
def test_stems(name: str, stem: str) -> None:
    assert stem_of(name) == stem


def test_natural_order_is_total_and_knows_numbers() -> None:
    names = ["a10", "a2", "A2", "a", "2", "10", "a02", "", "b1"]
    assert sorted(names, key=natural_key) == sorted([*names[4:], *names[:4]], key=natural_key)
    assert sorted(["v10", "V9", "v1", "v"], key=natural_key) == ["v", "v1", "V9", "v10"]


def test_long_stems_leave_room_for_a_suffix() -> None:
    for stem in unique_stems([f"{'é' * 500}.mp4", f"{'é' * 500}.mkv"]):
        assert 190 < len(stem.encode()) <= 203


def test_stems_do_not_clash() -> None:
    assert unique_stems(["a/clip.mp4", "b/Clip.mkv", "clip_2.mp4", "clip.avi", "-"]) == [
        "clip",
        "Clip_2",
        "clip_2_2",
        "clip_3",
        "stdin",
    ]
