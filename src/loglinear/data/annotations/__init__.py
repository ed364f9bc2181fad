"""Texts with labelled spans of characters, as annotation tools read and write them."""
