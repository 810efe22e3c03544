"""Networks that choose the next query, trained once for all histories."""
