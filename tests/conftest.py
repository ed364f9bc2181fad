"""What tests of every kind rely on."""

import signal


def pytest_configure() -> None:
    """Let Ctrl-C interrupt, also where a shell has started the tests in the background and had it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
