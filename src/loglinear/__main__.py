"""`python -m loglinear`."""

from .cli import main

main()
