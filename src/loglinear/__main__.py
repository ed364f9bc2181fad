"""`python -m loglinear`, and the command `loglinear`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported is no traceback either."""
    try:
        from .cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit("loglinear: error: interrupted")


if __name__ == "__main__":
    main()
