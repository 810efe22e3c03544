"""Conformal prediction sets at a stopping time.

Split conformal prediction (Vovk; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, 2018). On n held-out inputs the score
of the true class is 1 - p(true class | answers so far). The ceil((n + 1) coverage)-th smallest score is exceeded by
that of a new input with probability at most 1 - coverage, whatever the model. Of all scores this one gives the smallest
sets on average (Sadinle, Lei and Wasserman, 2019). The most probable class is always in the set.

- **after k queries**: covers after every fixed number of queries, the same for all inputs, where an input that has
  stopped keeps its last posterior; after the last of all this is the set at the stop.
- **anytime**: covers after all numbers of queries at once, so that the step at which one looks may depend on the
  answers. Each score becomes its rank among other inputs at that step, the score of an input is its largest rank over
  the steps, and the quantile of that goes back to one threshold for each step.

Coverage is marginal over inputs like those held out; ``by_class`` guarantees it in each class. It is ours because no
library offers sets at a stopping time: MAPIE, crepes and others take one score vector for each input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.pursuit.stopping import SLACK
from infopursuit.support.checks import number
from infopursuit.support.display import Brief
from infopursuit.support.types import FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.calibration.temperature import HeldOutRuns


@dataclass(frozen=True, repr=False)
class PredictionSets(Brief):
    """Prediction sets: the most probable class, and each class whose posterior reaches its threshold.

    Parameters
    ----------
    coverage: the probability that the true class is in the set.
    after, anytime: (1 or C, K + 1) thresholds of the posterior, one row for all classes or one for each, after 0 to K
        queries.

    >>> PredictionSets(0.9, ((0.3, 0.2),), ((0.1, 0.1),)).contains([[0.6, 0.25, 0.15]], [1]).tolist()
    [[True, True, False]]
    """

    coverage: float
    after: tuple[tuple[float, ...], ...]
    anytime: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        number(self.coverage, "coverage", above=0, below=1)
        for name in ("after", "anytime"):
            rows = getattr(self, name)
            if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
                raise ValueError(f"{name} has rows of different lengths; expected one number for each step")
            for value in (value for row in rows for value in row):
                number(value, f"{name}: threshold", least=0, most=1)

    def contains(self, posterior: Any, n_asked: Any, *, anytime: bool = False) -> Any:
        """(..., C) posteriors after (...) queries -> (..., C) whether each class is in the set."""
        thresholds = np.array(self.anytime if anytime else self.after)  # (1 or C, K + 1)
        posterior, k = np.asarray(posterior), np.minimum(np.asarray(n_asked), thresholds.shape[1] - 1)
        least = np.moveaxis(thresholds[:, k], 0, -1)  # (..., 1 or C)
        return (posterior >= least - SLACK) | (posterior == posterior.max(axis=-1, keepdims=True))

    def at_stop(self, posterior: Any) -> Any:
        """(..., C) last posteriors -> (..., C) whether each class is in the set."""
        return self.contains(posterior, np.full(np.shape(posterior)[:-1], len(self.after[0]) - 1))


def prediction_sets(
    ranked: HeldOutRuns,
    tested: HeldOutRuns,
    coverage: float,
    stops: Callable[[HeldOutRuns], IntArray],
    *,
    by_class: bool = False,
) -> PredictionSets:
    """Fit the sets of a pursuit that stops each run after ``stops(runs)`` queries (B,).

    ranked: runs among which ranks are taken. tested: runs that the guarantee rests on, on which neither the temperature
    nor the rule may have been chosen.
    """
    number(coverage, "coverage", above=0, below=1)
    among, scores = np.sort(_scores(ranked, stops(ranked)), axis=0), _scores(tested, stops(tested))
    n_steps = scores.shape[1]
    ranks = np.stack([np.searchsorted(among[:, k], scores[:, k]) for k in range(n_steps)], axis=1)
    after, anytime = [], []
    for c in range(tested.log_posterior.shape[2] if by_class else 1):
        rows = tested.labels == c if by_class else np.ones(len(tested), dtype=bool)
        place = math.ceil((int(rows.sum()) + 1) * coverage - 1e-9)
        enough = place <= rows.sum()
        after.append(1 - np.sort(scores[rows], axis=0)[place - 1] if enough else np.zeros(n_steps))
        # a rank is how many of the others score less; it is at most m where the score is at most their m-th, from 0 on
        worst = int(np.sort(ranks[rows].max(axis=1))[place - 1]) if enough else len(among)
        anytime.append(1 - among[worst] if worst < len(among) else np.zeros(n_steps))
    both = (tuple(tuple(np.clip(row, 0, 1).tolist()) for row in rows) for rows in (after, anytime))
    return PredictionSets(float(coverage), *both)


def find_sets(sets: Sequence[PredictionSets], coverage: float | None) -> PredictionSets:
    """The sets of a coverage, the first where none is given."""
    for each in sets:
        if coverage is None or math.isclose(each.coverage, coverage):
            return each
    known = ", ".join(f"{each.coverage:g}" for each in sets)
    raise ValueError(f"coverage={coverage!r} was not calibrated, but {known}; name it in calibrate(coverage=...)")


def sets_from_spec(spec: Any) -> tuple[PredictionSets, ...]:
    """The sets that ``dataclasses.asdict`` described."""
    return tuple(
        PredictionSets(each["coverage"], *(tuple(map(tuple, each[name])) for name in ("after", "anytime")))
        for each in spec
    )


def min_inputs_for_coverage(coverage: float) -> int:
    """Held-out inputs below which a set must contain every class.

    >>> min_inputs_for_coverage(0.95), min_inputs_for_coverage(0.9)
    (19, 9)
    """
    return math.ceil(coverage / (1 - coverage) - 1e-9)


def _scores(runs: HeldOutRuns, stops: IntArray) -> FloatArray:
    """(B, K + 1) 1 - p(true class) after each query; the last one repeated after the stop."""
    score = 1 - runs.true_class_posterior
    return np.take_along_axis(score, np.minimum(np.arange(score.shape[1]), stops[:, None]), axis=1)
