"""Pairwise networks: the numbering of weights, inference, and bounds on its results."""
