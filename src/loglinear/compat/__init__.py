"""The interfaces of other programs."""
