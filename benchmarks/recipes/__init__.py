"""The recipes of the paper's experiments."""
