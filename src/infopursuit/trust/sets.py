"""Prediction sets: classes among which the right one is, with a probability that is guaranteed.

Split conformal prediction (Vovk; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, 2018). On n held-out inputs the score
of the right class is 1 - p(right class | answers so far); the ceil((n + 1) coverage)-th smallest of those and of one
new input's is exceeded by the new one's with a probability of at most 1 - coverage, whatever the model is worth. Of
all scores this one gives the smallest sets on average (Sadinle, Lei and Wasserman, 2019); adding up the probabilities
of all likelier classes (APS) gives larger sets that are more alike in coverage. The likeliest class is always in.

- **after k questions**: covers after every fixed number of questions, the same for all inputs, where one that has
  stopped keeps what it ended with; after the last of all, which is the set at the stop.
- **anytime**: covers after all numbers of questions *at once*, so that one may look after every answer and take what is
  there: whoever looks because of what is believed looks at a step that was not fixed. Each step's scores are turned
  into their ranks among other inputs, the largest rank of an input over its steps is its score, and the quantile of
  that goes back to one threshold for each step. (The largest score itself would be the prior's, where nothing is
  known.)

Coverage is over inputs like those held out, on average over classes; ``by_class`` guarantees it in each class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.stopping import SLACK
from infopursuit.trust.pursued import Pursued
from infopursuit.types import FloatArray


@dataclass(frozen=True)
class SetRule:
    """What is in a prediction set: the likeliest class, and each whose posterior is not below its least one.

    after, anytime: the least posterior, one row for all classes or one for each, and for each number of questions 0, 1,
    ... to the budget.
    """

    coverage: float
    after: tuple[tuple[float, ...], ...]
    anytime: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_share(self.coverage, "coverage")
        for name in ("after", "anytime"):
            rows = getattr(self, name)
            if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
                raise ValueError(f"{name} has rows of different lengths; expected one number for each step")
            for value in (value for row in rows for value in row):
                if type(value) is not float or not 0 <= value <= 1:
                    raise ValueError(f"{name} holds {value!r}; a least posterior is a number from 0 to 1")

    def sets(self, posterior: Any, n_asked: Any, *, anytime: bool = False) -> Any:
        """(..., C) posteriors after (...) questions -> (..., C) whether each class is in the set."""
        least = np.array(self.anytime if anytime else self.after)  # (1 or C, K + 1)
        posterior, k = np.asarray(posterior), np.minimum(np.asarray(n_asked), least.shape[1] - 1)
        wanted = np.moveaxis(least[:, k], 0, -1)  # (..., 1 or C)
        return (posterior >= wanted - SLACK) | (posterior == posterior.max(axis=-1, keepdims=True))

    def at_the_stop(self, posterior: Any) -> Any:
        """(..., C) last posteriors -> (..., C) whether each class is in the set."""
        return self.sets(posterior, np.full(np.shape(posterior)[:-1], len(self.after[0]) - 1))


def set_rule(
    ranked: Pursued, tested: Pursued, coverage: float, threshold: float, patience: int = 0, *, by_class: bool = False
) -> SetRule:
    """The sets that cover with a probability of ``coverage`` where a pursuit stops at a confidence of ``threshold``.

    ranked: inputs that ranks are among. tested: those that the guarantee rests on, which neither the temperature nor
    the threshold may have been chosen on.
    """
    check_share(coverage, "coverage")
    among, scores = (np.sort(_scores(ranked, threshold, patience), axis=0), _scores(tested, threshold, patience))
    n_classes, n_steps = tested.log_posterior.shape[2], scores.shape[1]
    groups = [tested.labels == c for c in range(n_classes)] if by_class else [np.ones(len(tested), dtype=bool)]
    ranks = np.stack([np.searchsorted(among[:, k], scores[:, k]) for k in range(n_steps)], axis=1)
    after, anytime = [], []
    for rows in groups:
        place = math.ceil((int(rows.sum()) + 1) * coverage - 1e-9)
        enough = place <= rows.sum()
        after.append(1 - np.sort(scores[rows], axis=0)[place - 1] if enough else np.zeros(n_steps))
        # a rank is how many of the others score less; it is at most m where the score is at most their m-th, from 0 on
        worst = int(np.sort(ranks[rows].max(axis=1))[place - 1]) if enough else len(ranked)
        anytime.append(1 - among[worst] if worst < len(ranked) else np.zeros(n_steps))
    return SetRule(float(coverage), _rows(after), _rows(anytime))


def fewest_for(coverage: float) -> int:
    """Held-out inputs below which a set must have every class.

    >>> fewest_for(0.95), fewest_for(0.9)
    (19, 9)
    """
    return math.ceil(coverage / (1 - coverage) - 1e-9)


def check_share(value: Any, name: str) -> None:
    """Refuse what is no share between 0 and 1, both left out."""
    number = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
    if not number or not 0 < value < 1:
        raise ValueError(f"{name}={value!r} must be above 0 and below 1, such as 0.95")


def _scores(pursued: Pursued, threshold: float, patience: int) -> FloatArray:
    """(B, K + 1) 1 - p(right class) after each question; the last one repeated after the stop."""
    stop = pursued.stops([threshold], patience)[:, 0]
    ends = np.where(stop >= 0, stop, pursued.length)
    score = 1 - pursued.of_right_class
    return np.take_along_axis(score, np.minimum(np.arange(score.shape[1]), ends[:, None]), axis=1)


def _rows(found: list[FloatArray]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(np.clip(row, 0, 1).tolist()) for row in found)
