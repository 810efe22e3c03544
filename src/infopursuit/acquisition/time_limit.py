"""A limit of the time that choosing a query takes: less work, found by timing, so that a strategy stays a function of
the history. A clock that cut a choice short would make it depend on the machine's load."""

from __future__ import annotations

import logging
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from infopursuit.checks import number
from infopursuit.progress import Progress

logger = logging.getLogger(__name__)

TRIES = 3
"""A choice is within a time limit if one of this many is: other programs may have held up the others."""


def check_time_limit(time_limit: float | None, exact_gains: bool | None) -> None:
    """Refuse what is no limit of time, and one that contradicts exactness."""
    if time_limit is None:
        return
    number(time_limit, "time_limit", above=0)
    if exact_gains:
        raise ValueError(f"exact_gains=True has no limit of time, and time_limit={time_limit:g} is one; leave one out")


def within_time_limit(pursuit: Any, seconds: float) -> Any:
    """The pursuit with the most work for each choice, of its own and less, that takes no more than so many seconds.

    Where even the least takes longer, that is what comes back, with a warning.
    """
    offers = [pursuit.acquisition, *pursuit.acquisition.smaller()]
    fastest, found = np.inf, pursuit
    with Progress("timing choices", len(offers)) as shown:
        for offer in offers:
            found = replace(pursuit, acquisition=offer)
            _time_a_choice(found)  # the first one also makes what the others share
            for _ in range(TRIES):
                took = _time_a_choice(found)
                fastest = min(fastest, took)
                if took <= seconds:
                    logger.info("a choice with %s takes %.3g s, within %g s", offer, took, seconds)
                    return found
            shown.advance()
    warnings.warn(
        f"choosing a query takes {fastest:.3g} s with the least work, {offers[-1]}, which is longer than "
        f"time_limit={seconds:g}; allow more, or use a smaller model or fewer particles",
        UserWarning,
        stacklevel=3,
    )
    return found


def _time_a_choice(pursuit: Any) -> float:
    """How long one choice takes, after no answer and after one: the longer of the two."""
    pursuit.clear_cache()
    state, longest = pursuit.start(), 0.0
    for _ in range(2):
        begin = time.perf_counter()
        utilities = pursuit.utilities(state).value[0]
        longest = max(longest, time.perf_counter() - begin)
        if np.isnan(utilities).all():
            break
        query = int(np.nanargmax(utilities))
        width = int((pursuit.queries.query_variables[query] >= 0).sum())
        after = [pursuit.absorb(state, pursuit.branch(query, (cell,) * width), state.watch) for cell in (0, 1)]
        state = after[int(after[0].impossible[0])]  # the first answer that is possible
    return longest
