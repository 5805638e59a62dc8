"""One server for the tests that need only that there is one."""

from collections.abc import Iterator

import pytest

from tests.cli.commands.served import LiteServer, lite_server


@pytest.fixture(scope="session")
def server() -> Iterator[LiteServer]:
    with lite_server() as running:
        yield running
