"""A local page and JSON API of a tagger: `loglinear serve`."""
