"""Contingency tables: their counts, formulas of hierarchical models, sums over margins, fitted counts."""
