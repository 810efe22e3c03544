"""Beliefs about birds from any subset of the answers of people, and pursuits with them (`benchmarks.cub_answers`).

Naive Bayes counts what is told several times over as often as it is told. The weight of each group of attributes, the
strength of guesses, and the covariance of what is left when the percentages are taken away are learnt on images whose
own answers are not in the percentages of their species.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import infopursuit as ip
from benchmarks.datasets.bird_answers import SEED, Answers
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Belief, Budget, Estimate
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import FloatArray, IntArray

SMOOTHING = (1.0, 3.0, 10.0, 30.0)
"""Weight of the prior percentages, in the unit of the counts; 2.3 is what one image has in the mean."""
RANK, RELATIVES = 30, 50.0
DIAGONAL = 0.3
"""Share of the diagonal in the covariance of residuals."""
RIDGE, FIRST_WEIGHT = 10.0, 0.3


@dataclass(frozen=True)
class Idea:
    """What a belief is made of. smoothing: weight of the prior percentages. prior: ``mean`` of all, ``relatives``
    (same last word of the name) or ``low rank``. weighted: a weight for each group, learnt. certainty: strengths of
    guesses and of probable answers, learnt. correlated: a quadratic form of residuals, with their covariance."""

    name: str
    smoothing: float = 3.0
    prior: Literal["mean", "relatives", "low rank"] = "mean"
    weighted: bool = True
    certainty: bool = False
    correlated: bool = False


IDEAS = (
    *(Idea(f"naive Bayes, smoothing {s:g}", s, weighted=False) for s in SMOOTHING),
    *(Idea(f"a weight for each group, smoothing {s:g}", s) for s in SMOOTHING),
    Idea("and strengths by certainty", 10.0, certainty=True),
    Idea("and percentages drawn to relatives", 10.0, "relatives"),
    Idea(f"and percentages drawn to rank {RANK}", 20.0, "low rank"),
    Idea("and correlated residuals", 10.0, correlated=True),
    Idea("and certainty and correlated residuals", 10.0, certainty=True, correlated=True),
)


def prior_percentages(counts: FloatArray, totals: FloatArray, answers: Answers, kind: str) -> FloatArray:
    """(C, A) what the percentages of a class are drawn to."""
    group = answers.group
    mean = np.tile(counts.sum(axis=0) / totals.sum(axis=0)[group], (len(counts), 1))
    if kind == "relatives":
        last = np.unique([name.split("_")[-1] for name in answers.classes], return_inverse=True)[1]
        same = (last[:, None] == last) & ~np.eye(len(last), dtype=bool)
        return np.asarray((same @ counts + RELATIVES * mean) / ((same @ totals)[:, group] + RELATIVES))
    if kind == "low rank":
        p = (counts + 10 * mean) / (totals[:, group] + 10)
        u, s, v = np.linalg.svd(p - p.mean(axis=0), full_matrices=False)
        return np.asarray(np.clip(p.mean(axis=0) + (u[:, :RANK] * s[:RANK]) @ v[:RANK], 0.002, 0.99))
    return mean


@dataclass(frozen=True)
class Percentages:
    """Of all classes (C, A), and of the class of each image (B, A) without the image itself."""

    all: FloatArray
    own: FloatArray

    @classmethod
    def of(cls, answers: Answers, idea: Idea, held: BoolArray) -> Percentages:
        """Without the images that are held out; their own class has lost them already."""
        counts, totals = answers.without(held)
        prior = prior_percentages(counts, totals, answers, idea.prior)
        group, y, a = answers.group, answers.labels, idea.smoothing
        p = (counts + a * prior) / (totals[:, group] + a)
        weight = answers.weight[:, group]
        own = (counts[y] - weight * answers.yes + a * prior[y]) / (totals[y][:, group] - weight + a)
        return cls(p, np.where(held[:, None], p[y], own))


def group_terms(yes: FloatArray, known: FloatArray, p: FloatArray, group: IntArray) -> FloatArray:
    """(B, C, G) log p(answers of the group | class), attributes independent."""
    log_yes, log_no = np.log(p), np.log1p(-p)
    terms = [
        (known * yes)[:, group == g] @ log_yes[:, group == g].T
        + (known * (1 - yes))[:, group == g] @ log_no[:, group == g].T
        for g in range(group.max() + 1)
    ]
    return np.stack(terms, axis=2)


def residual_form(yes: FloatArray, known: FloatArray, p: FloatArray, root: FloatArray) -> FloatArray:
    """(B, C) -r' P r / 2 with residuals r = yes - p of what is known, 0 elsewhere; P = root root'."""
    found = np.empty((len(yes), len(p)))
    for i in range(len(yes)):
        some = np.flatnonzero(known[i])
        r = (yes[i, some] - p[:, some]).astype(np.float32)
        found[i] = -0.5 * ((r @ root[some]) ** 2).sum(axis=1)
    return found


def precision_root(residuals: FloatArray) -> FloatArray:
    """(A, A) a root of the inverse covariance of residuals (B, A), drawn to its diagonal."""
    covariance = residuals.T @ residuals / len(residuals)
    diagonal = np.maximum(np.diag(covariance), 1e-4)
    covariance = (1 - DIAGONAL) * covariance + np.diag(DIAGONAL * diagonal + 1e-3 * diagonal.mean())
    return np.linalg.cholesky(np.linalg.inv(covariance)).astype(np.float32)


def learn_weights(features: FloatArray, labels: IntArray, first: FloatArray) -> FloatArray:
    """(F,) weights of features (B, C, F) by conditional logistic regression, with a ridge towards ``first``."""
    rows = np.arange(len(labels))

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        score = (features @ w.astype(np.float32)).astype(np.float64)  # single precision: no copy of the features
        log_sum = logsumexp(score, axis=1)
        p = np.exp(score - log_sum[:, None])
        away = w - first
        gradient = np.tensordot(p.astype(np.float32), features, 2) - features[rows, labels].sum(axis=0) + RIDGE * away
        value = (log_sum - score[rows, labels]).sum() + RIDGE / 2 * away @ away
        return float(value) / len(rows), np.asarray(gradient / len(rows), dtype=np.float64)

    return np.asarray(minimize(loss, first, jac=True, method="L-BFGS-B").x)


@dataclass(frozen=True)
class Scores:
    """log p(class | answers) up to a constant, from any subset of answers: a weight for each group, which changes with
    the share of attributes that is known, strengths by certainty, and a quadratic form of residuals."""

    idea: Idea
    group: IntArray
    p: FloatArray
    weights: FloatArray
    root: FloatArray | None

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.group.max()) + 1

    def __call__(self, yes: FloatArray, known: FloatArray, certainty: IntArray) -> FloatArray:
        """(B, C) for answers yes (B, A) where known (B, A), with certainty (B, G)."""
        share = known.mean(axis=1, keepdims=True)
        n, w = self.n_groups, self.weights
        each = w[:n] + w[n] * share + w[n + 1] * (certainty == 2) + w[n + 2] * (certainty == 3)  # (B, G)
        each = (known * each[:, self.group]) * (share > 0)
        score = (each * yes) @ np.log(self.p).T + (each * (1 - yes)) @ np.log1p(-self.p).T
        if self.root is not None:
            score += (w[n + 3] + w[n + 4] * share) * residual_form(yes, known, self.p, self.root)
        return np.asarray(score)


Masks = Callable[[Scores, IntArray], Sequence[BoolArray]]
"""(a first belief, images) -> which attributes (images, A) are known, one or several times."""


def everything(_: Scores, rows: IntArray) -> Sequence[BoolArray]:
    """All answers."""
    return [np.ones((len(rows), 1), dtype=bool)]


def learn(answers: Answers, idea: Idea, held: BoolArray, masks: Masks = everything) -> Scores:
    """A belief from all images but those that are held out.

    The residuals of an image are judged by a covariance from other images, as those of a new image are.
    """
    percent, n_groups = Percentages.of(answers, idea, held), len(answers.groups)
    plain = np.r_[np.ones(n_groups), np.zeros(5)]
    if not idea.weighted:
        return Scores(idea, answers.group, percent.all, plain, None)
    train = np.flatnonzero(~held)
    residuals = answers.known * (answers.yes - percent.own)
    first = np.r_[np.full(n_groups, FIRST_WEIGHT), np.zeros(5)]
    start = Scores(idea, answers.group, percent.all, first, None)
    parts, labels = [], []
    for mask in masks(start, train):
        parts.append(_features(answers, idea, percent, train, answers.known[train] * mask, residuals))
        labels.append(answers.labels[train])
    weights = learn_weights(np.concatenate(parts), np.concatenate(labels), first)
    root = precision_root(residuals[train]) if idea.correlated else None
    return Scores(idea, answers.group, percent.all, weights, root)


def _features(
    answers: Answers, idea: Idea, percent: Percentages, rows: IntArray, known: FloatArray, residuals: FloatArray
) -> FloatArray:
    """(B, C, G + 5) what `Scores` weighs, of training images: each without itself in its class."""
    yes, group = answers.yes[rows], answers.group
    at = np.arange(len(rows)), answers.labels[rows]
    terms = group_terms(yes, known, percent.all, group)
    own = known * (yes * np.log(percent.own[rows]) + (1 - yes) * np.log1p(-percent.own[rows]))
    terms[at] = np.stack([own[:, group == g].sum(axis=1) for g in range(terms.shape[2])], axis=1)
    share = known.mean(axis=1)[:, None]
    extra = np.zeros((*terms.shape[:2], 5))
    extra[..., 0] = share * terms.sum(axis=2)
    if idea.certainty:
        for k, level in enumerate((2, 3), 1):
            extra[..., k] = np.einsum("bcg,bg->bc", terms, answers.certainty[rows] == level)
    if idea.correlated:
        inner = answers.fold[rows]
        for f in np.unique(inner):
            some, root = np.flatnonzero(inner == f), precision_root(residuals[rows[inner != f]])
            form = residual_form(yes[some], known[some], percent.all, root)
            mine = known[some] * (yes[some] - percent.own[rows[some]])
            form[np.arange(len(some)), answers.labels[rows[some]]] = -0.5 * ((mine @ root) ** 2).sum(axis=1)
            extra[some, :, 3], extra[some, :, 4] = form, share[some] * form
    return np.concatenate([terms, extra], axis=2).astype(np.float32)


# ---- questions, and a pursuit ----------------------------------------------------------------------------------------


class Questions(QuerySet):
    """A question for each group, or for each attribute, answered with how certain one is; not visible is unknown."""

    kind = "cub answers"

    def __init__(self, answers: Answers, by_group: bool) -> None:
        n, groups = len(answers.group), len(answers.groups)
        sizes = [2] * n + [3] * groups
        if by_group:
            names: Sequence[str] = answers.groups
            members = [[*np.flatnonzero(answers.group == g), n + g] for g in range(groups)]
        else:
            names, members = answers.attributes, [[a, n + g] for a, g in enumerate(answers.group)]
        variables = np.full((len(members), max(map(len, members))), -1)
        for q, some in enumerate(members):
            variables[q, : len(some)] = some
        super().__init__(names, sizes, variables)
        self.n_attributes = n
        self.group_of = np.arange(groups) if by_group else answers.group

    def observe(self, X: Any) -> IntArray:
        """X: values, as `values_of` makes them."""
        return self.variables.check(X)

    def to_spec(self) -> dict[str, Any]:
        raise NotImplementedError("the questions are read from the data folder")


def values_of(answers: Answers, yes: FloatArray, certainty: IntArray) -> IntArray:
    """(B, A + G) answers and certainties, -1 where not visible."""
    seen = certainty > 1
    return np.concatenate([np.where(seen[:, answers.group], yes, -1), np.where(seen, certainty - 2, -1)], 1).astype(int)


class AnswerBelief(Belief[FloatArray]):
    """`Scores` as a belief: the state of H histories is log p(class | history), (H, C)."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self.n_classes = len(scores.p)

    def init(self) -> FloatArray:
        """The prior is uniform."""
        return np.full((1, self.n_classes), -np.log(self.n_classes))

    def update(self, b: FloatArray, parents: IntArray, new: Histories) -> FloatArray:
        """From all that was observed."""
        seen, n = new.observed(), len(self.scores.group)
        yes, known = np.maximum(seen[:, :n], 0).astype(np.float64), (seen[:, :n] >= 0).astype(np.float64)
        score = self.scores(yes, known, seen[:, n:] + 2)
        return np.asarray(score - logsumexp(score, axis=1, keepdims=True))

    def log_posterior(self, b: FloatArray) -> Estimate:
        """(H, C)."""
        return Estimate.exact(b)


@dataclass(frozen=True)
class AnswerGain(Acquisition[FloatArray]):
    """Information gain of a question by its likely answers: H(answer) - H(answer | class), times P(visible).

    table (C, answers): p(answer | class), tempered by the weight of the group; owner (answers,): the question. A group
    has the answers that training images have; an attribute has no and yes.
    """

    table: FloatArray
    owner: IntArray
    visible: FloatArray
    group_of: IntArray
    unit: ClassVar[Literal["nats"]] = "nats"

    @classmethod
    def of(cls, answers: Answers, scores: Scores, questions: Questions, train: IntArray) -> AnswerGain:
        """From the answers about training images."""
        temper = np.maximum(scores.weights[: len(answers.groups)], 0.05)
        seen, tables, owner = answers.certainty[train] > 1, [], []
        log = np.log(scores.p), np.log1p(-scores.p)
        for q, g in enumerate(questions.group_of):
            some = questions.query_variables[q][questions.query_variables[q] >= 0][:-1]
            patterns = np.unique(answers.yes[train][seen[:, g]][:, some], axis=0)
            likelihood = patterns @ log[0][:, some].T + (1 - patterns) @ log[1][:, some].T  # (answers, C)
            tables.append(softmax(temper[g] * likelihood, axis=0).T)
            owner += [q] * len(patterns)
        return cls(np.concatenate(tables, 1), np.array(owner), seen.mean(axis=0), questions.group_of)

    @cached_property
    def spread(self) -> FloatArray:
        """(C, Q) H(answer | class)."""
        return _entropies(self.table, self.owner)

    def utilities(self, b: FloatArray, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q); no gain where the group was not visible."""
        p = np.exp(b)
        gain = np.maximum(_entropies(p @ self.table, self.owner) - p @ self.spread, 0.0) * self.visible[self.group_of]
        unseen = np.zeros((len(b), len(self.visible)), dtype=bool)
        rows, steps = np.nonzero((histories.answers < 0).all(axis=2))
        unseen[rows, self.group_of[histories.queries[rows, steps]]] = True
        return Estimate.exact(np.where(allowed, np.where(unseen[:, self.group_of], 0.0, gain), np.nan))


def _entropies(p: FloatArray, owner: IntArray) -> FloatArray:
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return np.asarray(np.add.reduceat(-p * np.log(np.maximum(p, 1e-300)), starts, axis=1))


def pursuit_of(answers: Answers, scores: Scores, questions: Questions, train: IntArray, most: int) -> ip.Pursuit[Any]:
    """A pursuit of at most so many questions."""
    gain = AnswerGain.of(answers, scores, questions, train)
    rule = ip.MaxQueries(min(most, len(questions)))
    return ip.Pursuit(questions, AnswerBelief(scores), gain, rule, classes=np.array(answers.classes))


def own_histories(answers: Answers, questions: Questions, most: int, first: Scores, rows: IntArray) -> list[BoolArray]:
    """Masks as pursuits make them: prefixes of pursuits with a first belief, of random length, twice; and all."""
    values = values_of(answers, answers.yes, answers.certainty)[rows]
    trace = pursuit_of(answers, first, questions, rows, most).run_values(values, progress=False)
    rng, masks = np.random.default_rng(SEED), [np.ones((len(rows), len(answers.group)), dtype=bool)]
    for _ in range(2):
        mask = np.zeros((len(rows), len(answers.group)), dtype=bool)
        for i, length in enumerate(rng.integers(1, trace.queries.shape[1] + 1, len(rows))):
            variables = questions.query_variables[trace.queries[i, :length]]
            mask[i, variables[(variables >= 0) & (variables < len(answers.group))]] = True
        masks.append(mask)
    return masks
