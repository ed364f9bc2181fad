"""`python -m loglinear`, and the command `loglinear`."""

import signal
import sys
import threading


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported is no traceback either.

    At the end Ctrl-C is ignored: while it finalizes, Python would be killed by it instead of exiting with a code.
    """
    try:
        from .cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit("loglinear: error: interrupted")
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
