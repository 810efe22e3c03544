"""`pool`: a pursuit whose belief is pooled with another one, the weights fitted on held-out inputs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.strategies.amortized.distillation import CERTAIN, labels_of
from infopursuit.strategies.amortized.querier import acquisition_for
from infopursuit.strategies.generative.exact import LatentBelief
from infopursuit.strategies.opinion_pool import LogPool, OpinionPool, fit_weights
from infopursuit.support.checks import instance, one_of, whole_number
from infopursuit.support.progress import Progress
from infopursuit.support.types import FloatArray, IntArray, Observed

CHOOSES = ("pursuit", "other")
CERTAIN_ENTROPY = 0.1
"""Nats: a generative member that is as certain as that leaves the classes to the pool when it looks for a query."""


def pool(
    pursuit: Pursuit[Any],
    other: Any,
    X: Any,
    y: Any,
    *,
    max_queries: int = 12,
    min_queries: int = 1,
    reweight: bool | float = CERTAIN_ENTROPY,
    chooses: str = "pursuit",
    progress: bool | None = None,
) -> Pursuit[Any]:
    """The pursuit with the log opinion pool of its belief and another one, such as that of a network on histories.

    The belief is an `OpinionPool` where that of the pursuit is generative, otherwise a `LogPool`.

    The weights are those with the least log loss after each answer of the pool's own histories. The stopping rule is
    as before: choose it anew, as a pooled posterior is less confident.

    Parameters
    ----------
    pursuit: one with a generative model, or an amortised one.
    other: a belief about the same queries and classes, such as ``student.belief`` of `distill`.
    X, y: inputs that neither was trained on, and their labels.
    min_queries, max_queries: of a history on which the weights are fitted; after the first few answers much is unknown
        and hardly any pursuit stops, and their log loss would outweigh the rest.
    reweight: whether queries are chosen by their gains under the pooled classes; the default is where the generative
        posterior has an entropy below 0.1 nats, see `OpinionPool`.
    chooses: who chooses the queries: the "pursuit", or "other", a network that has learnt what to ask (`Amortized`) and
        then sees histories like its own.

    >>> import infopursuit as ip
    >>> queries = ip.queries.concepts(["has wings", "is red"])
    >>> sure = ip.generative_pursuit(ip.models.TableModel([0.5, 0.5], None, [[0.99, 0.5], [0.01, 0.5]]), queries)
    >>> other = ip.strategies.Exact(ip.models.TableModel([0.5, 0.5], None, [[0.8, 0.5], [0.2, 0.5]]), queries)
    >>> X = np.tile([[1, 0], [1, 1], [0, 0], [0, 1]], (5, 1))
    >>> pooled = pool(sure, other, X, [0] * 4 + [0, 0, 1, 1] * 4)
    >>> bool(0.8 < pooled.run(X).posterior.max() < 0.99)
    True
    """
    instance(pursuit, "pursuit", Pursuit, "an ip.Pursuit, such as clf.pursuit_")
    n = min(whole_number(max_queries, "max_queries", 1), len(pursuit.queries))
    least = min(whole_number(min_queries, "min_queries", 1), n)
    labels = labels_of(y, pursuit.classes, len(X))
    acquisition: Any = pursuit.acquisition
    if one_of(chooses, "chooses", CHOOSES) == "other":
        if other.capabilities.utilities is None:
            raise ValueError(f"chooses='other', and other is {type(other).__name__}; give a NetworkBelief")
        acquisition = acquisition_for(other)
    generative = isinstance(pursuit.belief, LatentBelief)
    make: Any = partial(OpinionPool, reweight=reweight) if generative or reweight is True else LogPool
    at_first = replace(
        pursuit,
        belief=make(pursuit.belief, other),
        acquisition=acquisition,
        stopping=Confidence(CERTAIN) | MaxQueries(n),
        patience=0,
        calibrator=None,
        novelty=None,
    )
    found: list[tuple[FloatArray, FloatArray, IntArray]] = []
    observed, rows = pursuit.queries.read(X), at_first.rows_at_a_time()
    with Progress("pooling", len(labels), show=progress) as shown:
        for start in range(0, len(labels), rows):
            some = np.arange(start, min(start + rows, len(labels)))
            found += _walk(at_first, observed, some, labels)[least - 1 :]
            shown.advance(len(some))
    if not found:
        raise ValueError(f"min_queries={min_queries}: no history is as long as that; choose fewer")
    one, two, taught = (np.concatenate(each) for each in zip(*found, strict=True))
    weights = fit_weights([one, two], taught)
    belief = make(pursuit.belief, other, (weights[0], weights[1]))
    return replace(pursuit, belief=belief, acquisition=acquisition, calibrator=None, novelty=None)


def _walk(
    pursuit: Pursuit[Any], observed: Observed, inputs: IntArray, labels: IntArray
) -> list[tuple[FloatArray, FloatArray, IntArray]]:
    """Log posteriors of both members after each answer of the pursuits of some inputs, and the labels."""
    belief: Any = pursuit.belief
    after_answers = []
    for k, turn in enumerate(pursuit.steps(observed, inputs=inputs)):
        if k == 0:
            continue

        b: Any = turn.step.state.belief
        one = belief.generative.log_posterior(b.generative).value[turn.place]
        two = belief.other.log_posterior(b.other).value[turn.place]
        possible = ~np.isnan(one).any(axis=1)
        after_answers.append((one[possible], two[possible], labels[turn.inputs[possible]]))
    return after_answers
