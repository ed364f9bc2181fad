"""A file for each command: its arguments (`configure`), an example, and what it does (`run`)."""
