"""Short names tell inputs apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.output.labels import short_labels


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["rtsp://10.0.0.5:554/live/front", "rtsp://10.0.0.6:554/live/yard"], ["front", "yard"]),
        (["rtsp://10.0.0.5/live", "rtsp://10.0.0.6/live"], ["10.0.0.5", "10.0.0.6"]),
        (["http://cdn/a/index.m3u8", "http://cdn/b/index.m3u8"], ["a", "b"]),
        (["rtsp://n/c?channel=1&subtype=0", "rtsp://n/c?channel=2&subtype=0"], ["channel=1", "channel=2"]),
        (["h/a/x", "h/a/y", "h/b/x"], ["a/x", "a/y", "b/x"]),
        (["/dev/video0", "camera:1", "rtsp://host/yard"], ["video0", "camera:1", "yard"]),
        (["lavfi:testsrc2=r=30000/1001", "lavfi:smptebars"], ["lavfi:testsrc2=…", "lavfi:smptebars"]),
        (["camera:0", "camera:0"], ["1 camera:0", "2 camera:0"]),
        (["udp://host:1", "tcp://host:1"], ["1 host:1", "2 host:1"]),
        (
            ["a-very-long-name-1-of-all", "a-very-long-name-2-of-all"],
            ["a-very-…1-of-all", "a-very-…2-of-all"],
        ),
        (
            ["a-very-long-head-1-and-tail", "a-very-long-head-2-and-tail"],
            ["1 a-very…nd-tail", "2 a-very…nd-tail"],
        ),
    ],
)
def test_the_last_part_that_differs_is_the_label(names: list[str], labels: list[str]) -> None:
    assert short_labels(names, 16) == labels


def test_no_label_tells_a_password() -> None:
    names = ["rtsp://me:secret@host", "rtsp://me:secret@host", "http://other/?token=secret"]
    assert not [label for label in short_labels(names, 40) if "secret" in label or "me" in label]


@given(
    st.lists(st.text(alphabet="ab/?&:@.\n\x1b[ 界", max_size=30), max_size=12),
    st.integers(min_value=6, max_value=30),
)
def test_labels_differ_and_fit(names: list[str], width: int) -> None:
    labels = short_labels(names, width)
    assert len(labels) == len(names) == len(set(labels))
    assert all(len(label) <= width and "\n" not in label and "\x1b" not in label for label in labels)
