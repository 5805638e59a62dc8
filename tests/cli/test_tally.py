"""The exit code says whether all, some or none of the inputs went well."""

import pytest

from cli.tally import Tally


@pytest.mark.parametrize(
    ("tally", "code"),
    [
        (Tally(done=2), 0),
        (Tally(done=2, incomplete=1), 3),
        (Tally(done=1, failed=1), 3),
        (Tally(failed=2), 1),
        (Tally(), 1),
    ],
)
def test_exit_code(tally: Tally, code: int) -> None:
    assert tally.exit_code == code
