"""What makes a probability mean what it says: temperatures, prediction sets, guarantees, novelty."""
