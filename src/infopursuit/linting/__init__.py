"""The query-set linter: what is wrong with a set of questions and the rows that they are asked about."""
