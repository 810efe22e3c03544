"""How much is computed for one choice, and how little of it fits a limit of time.

A clock that cuts a choice short would make the next query depend on what else the machine does, and a strategy must be
a function of the history. So the limit of time is made into a limit of work, once, before anything is asked.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from infopursuit.progress import Progress

logger = logging.getLogger(__name__)

SMALLER = ((1024, 64), (512, 32), (256, 16), (128, 8), (64, 4))
"""States that gains are computed on, and queries about several atoms that get their full gain, from more to less."""
TRIES = 3
"""A choice is in time if one of this many is: other programs may have held up the others."""

Chooses = TypeVar("Chooses")


@dataclass(frozen=True)
class Work:
    """What is computed for one choice: see `Chooser`, whose settings these are."""

    exact_gains: bool | None
    n_states: int
    n_screened: int

    def smaller(self) -> list[Work]:
        """Less and less work, none of it exact."""
        found = [] if self.exact_gains is False else [Work(False, self.n_states, self.n_screened)]
        for states, screened in SMALLER:
            work = Work(False, min(states, self.n_states), min(screened, self.n_screened))
            if work not in (self, *found):
                found.append(work)
        return found

    def __str__(self) -> str:
        return "all states" if self.exact_gains else f"{self.n_states} states and {self.n_screened} queries"


def check_seconds(seconds: float | None, exact_gains: bool | None) -> None:
    """Refuse what is no limit of time, and one that contradicts exactness."""
    if seconds is None:
        return
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds={seconds!r}; expected a number above 0, such as 0.5, or None for no limit")
    if exact_gains:
        raise ValueError(
            f"exact_gains=True takes as long as it takes, and seconds={seconds:g} limits that; leave one of them out"
        )


def work_within(
    seconds: float, asked: Work, build: Callable[[Work], Chooses], took: Callable[[Chooses], float]
) -> Chooses:
    """What chooses with the most work, of that asked for and less, that ``took`` no more than so many seconds.

    Where even the least takes longer, that is what comes back, with a warning.
    """
    offers = [asked, *asked.smaller()]
    fastest = math.inf
    with Progress("trying how long a choice takes", len(offers)) as shown:
        for work in offers:
            chooser = build(work)
            took(chooser)  # the first one also makes what the others share
            for _ in range(TRIES):
                time = took(chooser)
                fastest = min(fastest, time)
                if time <= seconds:
                    logger.info("a choice on %s takes %.3g s, within the %g s allowed", work, time, seconds)
                    return chooser
            shown.advance()
    warnings.warn(
        f"choosing a query takes {fastest:.3g} s with the least work, {offers[-1]}, which is longer than "
        f"seconds={seconds:g}; allow more, or take a smaller model or fewer draws",
        UserWarning,
        stacklevel=3,
    )
    return chooser
