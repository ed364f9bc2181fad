"""Estimators, and the training they share with the command line."""
