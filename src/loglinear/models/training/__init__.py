"""Training: options, the run of a solver, checkpoints, warm starts, structure search."""
