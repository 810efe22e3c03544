"""From a table to a questionnaire: which columns are asked about, what kind of table it is, and how well it works."""
