"""Models that come along, so that everything can be tried at once, without data and without the network.

>>> from infopursuit import shipped
>>> shipped.names()
('animals', 'digits', 'mnist')
"""

from infopursuit.shipped.catalog import fingerprint, is_shipped, load, names, open_model, summary

__all__ = ["fingerprint", "is_shipped", "load", "names", "open_model", "summary"]
