"""The default on tables: networks that predict the label and the answers from any known answers."""
