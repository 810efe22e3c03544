"""`InformationPursuitClassifier`: reads a table, tunes on held-out rows, and measures itself."""
