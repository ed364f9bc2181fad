"""Figures of trainings and networks; they need matplotlib, the extra `report`."""
