"""Explanations and reports: why a model gives an answer, and how good its answers are."""
