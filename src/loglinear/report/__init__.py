"""Figures of what a training did; they need matplotlib, the extra `report`."""
