import json
import resource
import signal
from pathlib import Path

import pytest
from PIL import Image

from cli.video.frame_folder import FrameFolder
from protocol.errors import OutputError
from protocol.frame import Frame
from tests.clips import numbered


def frame(pts_s: float, number: int = 0) -> Frame:
    return Frame(pixels=numbered(number), pts_s=pts_s)


def test_pictures_and_their_index(tmp_path: Path) -> None:
    with FrameFolder(tmp_path / "new" / "folder") as folder:
        folder.write(frame(0.0), source="clip.mp4", stem="clip")
        path = folder.write(frame(12.345), source="clip.mp4", stem="clip")
        lines = (tmp_path / "new" / "folder" / "index.jsonl").read_text().splitlines()
        assert len(lines) == 2, "each line is written at once"
    assert path.name == "clip-000012.345.jpg"
    assert json.loads(lines[1]) == {
        "file": "clip-000012.345.jpg",
        "source": "clip.mp4",
        "pts_s": 12.345,
        "width": 128,
        "height": 64,
    }
    with Image.open(path) as image:
        assert (image.format, image.size) == ("JPEG", (128, 64))


def test_png_is_lossless(tmp_path: Path) -> None:
    with FrameFolder(tmp_path, encoding="png") as folder:
        path = folder.write(frame(1, 77), source="a", stem="a")
    with Image.open(path) as image:
        assert image.tobytes() == numbered(77).tobytes()


def test_names_sort_by_time_even_within_a_millisecond(tmp_path: Path) -> None:
    times = [0.0, 0.9, 9.9, 10.0, 10.0001, 10.0002, 10.002, 100.0, 12345.0]
    with FrameFolder(tmp_path) as folder:
        names = [folder.write(frame(time), source="a", stem="a").name for time in times]
    assert names == sorted(names)
    assert len(set(names)) == len(names)


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    for overwrite in (False, True):
        with FrameFolder(tmp_path, overwrite=overwrite) as folder:
            folder.write(frame(0), source="a", stem="a")
    with pytest.raises(OutputError, match=r"index\.jsonl: exists already; use --overwrite"):
        FrameFolder(tmp_path)
    (tmp_path / "index.jsonl").unlink()
    with FrameFolder(tmp_path) as folder, pytest.raises(OutputError, match=r"a-000000\.000\.jpg: exists"):
        folder.write(frame(0), source="a", stem="a")


@pytest.mark.parametrize("left", [0, 20])
def test_a_full_disk_leaves_no_half_picture_and_no_half_line(tmp_path: Path, left: int) -> None:
    with FrameFolder(tmp_path) as folder:
        first = folder.write(frame(0), source="a", stem="a")
        before = (tmp_path / "index.jsonl").read_bytes()
        room = max(first.stat().st_size, len(before)) if left else 100
        was = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room + left, was[1]))
            with pytest.raises(OutputError, match="too large"):
                folder.write(frame(1), source="a" * room, stem="a")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, was)
            signal.signal(signal.SIGXFSZ, ignored)
    assert (tmp_path / "index.jsonl").read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [first, tmp_path / "index.jsonl"]


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="not a folder"):
        FrameFolder(tmp_path / "file")
    with pytest.raises(OutputError, match="not a directory"):
        FrameFolder(tmp_path / "file" / "below")
