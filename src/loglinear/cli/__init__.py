"""The command line: `main` chooses a command, `commands` holds a file for each, the rest is what they share."""
