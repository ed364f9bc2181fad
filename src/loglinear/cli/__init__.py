"""The command line: `main` chooses a command, `commands` holds a file for each, which share the other files."""
