"""What every test starts from."""

import signal


def pytest_configure() -> None:
    """A suite started in the background inherits an ignored SIGINT; its children should not."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
