import pytest

from engine.lite.place import name, part


@pytest.mark.parametrize(
    ("x", "y", "place"),
    [
        (0.1, 0.1, "at the top left"),
        (0.5, 0.1, "at the top"),
        (0.9, 0.5, "on the right"),
        (0.5, 0.5, "in the middle"),
        (1.0, 1.0, "at the bottom right"),
    ],
)
def test_parts(x, y, place):
    assert part(x, y) == place


def test_what_is_in_all_rows_and_columns_has_no_place():
    assert name(None, None) is None
    assert name(0, None) == "on the left"
    assert name(None, 1) is None
    assert name(1, None) == "in the middle"
