"""Utilities where nothing limits how much is asked."""

from infopursuit.pursuit import Budget


def utilities(function, b, histories, allowed):
    """The `Estimate` of an acquisition function that is bound to a belief."""
    return function.utilities(b, histories, allowed, Budget.unlimited(len(allowed)))
