"""How far an answer can be trusted: stopping with a guarantee, sets that cover, inputs unlike those of training."""
