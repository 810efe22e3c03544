"""What somebody answered, as the engine takes it: cells, or how likely each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from infopursuit.answerers.reliability import Reliability
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, Likely, Said


def heard(queries: QuerySet, query: int, value: Any, sure: float | None = None, by: Reliability | None = None) -> Said:
    """A choice, its index, the cells of its atoms, or None for "not known"; a `Likely`, or {choice: probability}.

    sure: how sure the answerer is of a choice; the others share the rest. by: how reliable the answerer is.

    >>> from infopursuit.queries import concepts
    >>> qs = concepts(["has wings"])
    >>> heard(qs, 0, "yes"), heard(qs, 0, "yes", sure=0.75)
    ((1,), Likely(weights=((0.25, 0.75),)))
    >>> heard(qs, 0, {"yes": 0.5, "no": 0.5}) is None
    True
    """
    if isinstance(value, Likely) or (isinstance(value, Mapping) and _names_choices(queries, query, value)):
        if sure is not None or by is not None:
            raise ValueError("an answer that says how likely each choice is needs neither sure= nor by=; leave it out")
        likely = value if isinstance(value, Likely) else _from_mapping(queries, query, value)
        _check_shape(queries, query, likely)
        return None if all(cell == UNKNOWN for cell in likely.cells) else likely
    answer = queries.to_answer(query, value)
    if answer is None or (sure is None and by is None):
        return answer
    if sure is not None and by is not None:
        raise ValueError(f"sure={sure} and by= both say how far to rely on the answer; give one of them")
    if by is None:
        if not isinstance(sure, (int, float, np.floating)) or not 0 < float(sure) <= 1:
            raise ValueError(f"sure={sure!r} must be above 0 and at most 1; 0.8 is fairly sure, None is not to say")
        by = Reliability(float(sure))
    likely = by.likely(queries, query, answer)
    return None if all(cell == UNKNOWN for cell in likely.cells) else likely


def _names_choices(queries: QuerySet, query: int, value: Mapping[Any, Any]) -> bool:
    """Whether a mapping is from choices; that from the members of a panel is an answer of its own kind."""
    names = [str(choice).lower() for choice in queries.choices(query)] if _is_narrow(queries, query) else []
    return bool(value) and all(isinstance(choice, str) and choice.lower() in names for choice in value)


def _is_narrow(queries: QuerySet, query: int) -> bool:
    return int((queries.query_atoms[query] >= 0).sum()) == 1


def _from_mapping(queries: QuerySet, query: int, value: Mapping[Any, Any]) -> Likely:
    name, choices = queries.names[query], queries.choices(query)
    weights = [0.0] * len(choices)
    for choice, probability in value.items():
        cell = queries.to_answer(query, choice)
        assert cell is not None
        if isinstance(probability, bool) or not isinstance(probability, (int, float, np.integer, np.floating)):
            raise ValueError(f"the probability of {choice!r} is {probability!r}; give a number from 0 to 1")
        weights[cell[0]] = float(probability)
    if not all(0 <= weight <= 1 for weight in weights) or not np.isclose(sum(weights), 1, atol=1e-3):
        raise ValueError(
            f"the probabilities of {name!r} are {dict(value)!r:.80}; give numbers from 0 to 1 that sum to 1, "
            f"those left out being 0"
        )
    return Likely((tuple(weights),))


def _check_shape(queries: QuerySet, query: int, likely: Likely) -> None:
    atoms = queries.query_atoms[query] >= 0
    expected = queries.n_cells[query][atoms].tolist()
    found = [len(cells) for cells in likely.weights]
    if found != expected:
        raise ValueError(
            f"the answer to {queries.names[query]!r} has weights for {found} cells, and the query has {expected}"
        )
