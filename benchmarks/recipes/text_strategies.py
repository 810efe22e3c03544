"""Strategies that ask yes/no questions about texts, all on the same naive Bayes by log-odds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks.gain_stops import Limits, guesses_at, stops_at
from benchmarks.recipes.history_network import ClassGain, Demonstrations, Training, demonstrate, fit_network
from benchmarks.recipes.log_odds import fit_log_odds
from benchmarks.recipes.word_groups import GroupBelief, GroupGain, WordGroups, agglomerate
from benchmarks.recipes.word_models import all_answers
from infopursuit.models.sample import Sample
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.trace import Trace
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.strategies.hybrid.belief import PredictorBelief
from infopursuit.support.types import FloatArray, IntArray


@dataclass(frozen=True)
class Rows:
    """Yes/no answers (B, Q) to learn from, with labels (B,); option: spread and weight of `fit_log_odds`.

    most: questions at the most. n_folds: of the histories that the hybrid learns from.
    """

    queries: QuerySet
    values: IntArray
    labels: IntArray
    n_classes: int
    option: tuple[float, float] = (0.7, 1.0)
    most: int = 200
    n_folds: int = 4
    seed: int = 0
    say: Callable[[str], None] = field(default=print, compare=False)

    def sample(self, rows: Any = slice(None)) -> Sample:
        """Some rows to learn from."""
        return Sample.of(self.queries.variables, self.values[rows], self.labels[rows], n_classes=self.n_classes)

    def model(self, rows: Any = slice(None)) -> Any:
        """Naive Bayes."""
        return fit_log_odds(self.sample(rows), *self.option)


@dataclass(frozen=True)
class Asker:
    """A pursuit, p(y | all answers) as a function of (B, Q) values, and the values that the pursuit reads."""

    pursuit: Pursuit[Any]
    all_answers: Callable[[IntArray], FloatArray]
    read: Callable[[IntArray], IntArray] = field(default=lambda values: values)

    def run(self, values: IntArray) -> Trace:
        """Pursue."""
        return self.pursuit.run_values(self.read(values), progress=False)


def generative(rows: Rows) -> Asker:
    """Naive Bayes, exact."""
    model = rows.model()
    pursuit = generative_pursuit(model, rows.queries, stopping=ip.MaxQueries(rows.most))
    return Asker(pursuit, lambda values: np.exp(all_answers(model, values)))


def hybrid(rows: Rows, training: Training | None = None) -> Asker:
    """A network believes, trained on histories of naive Bayes that was fitted on other rows; the gains are those of its
    belief with p(answer | y) by naive Bayes."""
    fold = np.random.default_rng((rows.seed, 5)).permutation(len(rows.labels)) % rows.n_folds
    models = tuple(rows.model(fold != number) for number in range(rows.n_folds))
    paths = np.empty((len(fold), rows.most), dtype=np.int64)
    for number, each in enumerate(models):
        mine = np.flatnonzero(fold == number)
        paths[mine] = demonstrate(each, rows.values[mine], rows.most)
    model = rows.model()
    shown = Demonstrations(rows.values, rows.labels, paths, fold, models)
    network = fit_network(model, shown, training, seed=rows.seed, say=rows.say)
    belief = PredictorBelief(network, None, rows.queries)
    pursuit = Pursuit(rows.queries, belief, ClassGain(belief, model), ip.MaxQueries(rows.most), learnt=True)
    return Asker(pursuit, lambda values: network.predict(values.astype(np.float64))[0])


LEAST_GAIN = 5e-4
"""Nats at which pursuits with groups end: hardly any guess changes after that, and a step is dear."""


def groups(rows: Rows, largest: int = 30) -> Asker:
    """Naive Bayes, exact; questions about single words and about nested groups of at most so many."""
    model = rows.model()
    prior, _, tables = model.tables()
    nested = [group for group in agglomerate(prior[:, None] * tables[:, 0, 1::2]) if len(group) <= largest]
    queries = WordGroups(rows.queries, nested, rows.values.mean(axis=0))
    belief = GroupBelief(model, queries)
    rule = ip.InformationGain(LEAST_GAIN) | ip.MaxQueries(rows.most)
    pursuit = Pursuit(queries, belief, GroupGain(belief), rule)
    return Asker(pursuit, lambda values: np.exp(all_answers(model, values)), queries.of_words)


STRATEGIES: dict[str, Callable[[Rows], Asker]] = {
    "generative": generative,
    "hybrid": hybrid,
    "groups": groups,
}


def after(trace: Trace, n: int) -> IntArray:
    """(B,) the guesses after n questions, or at the end of a shorter trace."""
    return guesses_at(trace, np.minimum(n, trace.length))


def at_limits(trace: Trace, labels: IntArray, limits: Limits) -> dict[str, Any]:
    """What stopping at these limits comes to."""
    stops = stops_at(trace, limits)
    right = guesses_at(trace, stops) == labels
    error = float(stops.std(ddof=1) / np.sqrt(len(stops)))
    return {"right": float(right.mean()), "length": float(stops.mean()), "length_error": error}
