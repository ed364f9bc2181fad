"""Pairwise networks: how weights are numbered, what a network says of its variables, and how well that is known."""
