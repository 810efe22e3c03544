"""Those who answer: how often they are right, and how that is learnt."""
