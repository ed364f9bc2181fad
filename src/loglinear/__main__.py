"""`python -m loglinear`."""

from .cli.main import main

main()
