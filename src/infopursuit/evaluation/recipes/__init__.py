"""Recipes: each experiment of the paper in one command, from the data to a file of results."""
