"""Data before training: files and sentences in, encoded corpora, matrices and tables out."""
