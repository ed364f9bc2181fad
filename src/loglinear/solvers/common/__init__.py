"""What several solvers are made of."""
