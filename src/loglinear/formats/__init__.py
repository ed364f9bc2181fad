"""Readers of files that need no native code: lines of text, tables of categories."""
