"""Checks of a model that is in use: has what it is told drifted, and what is it that is in use."""
