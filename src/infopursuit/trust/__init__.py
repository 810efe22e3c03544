"""Confidence that means what it says: stopping with a guarantee, prediction sets, reliability."""
