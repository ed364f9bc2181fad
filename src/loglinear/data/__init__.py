"""Data for training: from files and Python objects to encoded corpora, matrices and tables."""
