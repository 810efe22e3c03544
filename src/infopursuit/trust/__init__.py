"""How far an answer can be trusted."""
