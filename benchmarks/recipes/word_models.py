"""Generative models of the words of a headline, with the settings that are tried of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from benchmarks.recipes.log_odds import fit_log_odds
from infopursuit.models.empirical import EmpiricalModel, Flip
from infopursuit.models.finite import FiniteModel, class_log_sums, log
from infopursuit.models.learning import latent_classes, naive_bayes
from infopursuit.models.sample import Sample
from infopursuit.support.types import FloatArray

AT_A_TIME = 500
"""Inputs whose weights of all states are held at a time."""
TABLES = (0.7, 1.0)
"""Spread and weight of log p(y | x) of the tables that examples flip to."""


@dataclass(frozen=True)
class Family:
    """fit: a sample and one of the options to a model."""

    name: str
    options: tuple[tuple[float, ...], ...]
    fit: Callable[..., Any]


def all_answers(model: FiniteModel, values: Any) -> FloatArray:
    """(B, A) yes/no answers to everything -> (B, C) log p(y | all answers): MAP using Q, as matrix products."""
    log_probs = log(model.block(slice(0, model.variables.n_slots)).astype(np.float64))
    none, odds = log_probs[0::2].sum(0), log_probs[1::2] - log_probs[0::2]  # (S,), (A, S)
    found = []
    for start in range(0, len(values), AT_A_TIME):
        weights = np.asarray(values[start : start + AT_A_TIME], dtype=np.float64) @ odds + none + model.log_prior
        found.append(log_softmax(class_log_sums(weights, model.offsets), axis=1))
    return np.concatenate(found)


def in_memory(model: FiniteModel) -> FiniteModel:
    """The same states with their probabilities kept, where `EmpiricalModel` makes them anew for every question."""
    probs = model.block(slice(0, model.variables.n_slots)).astype(np.float64)
    return FiniteModel(model.variables, model.log_prior, model.offsets, probs)


def _examples(sample: Sample, rate: float) -> FiniteModel:
    """Every headline a state: its own words, or with this rate what is usual in its class by the log-odds tables."""
    prior, _, tables = fit_log_odds(sample, *TABLES).tables()
    return EmpiricalModel.of(sample, Flip((rate,)), "float64", class_prior=prior, marginals=tables[:, 0])


LOG_ODDS = Family(
    "log-odds",
    tuple((spread, conditional) for spread in (0.5, 0.7, 0.9) for conditional in (0.5, 1.0, 2.0)),
    fit_log_odds,
)
FAMILIES = (
    LOG_ODDS,
    Family("log-odds, generative alone", ((0.5,), (0.7,), (0.9,), (1.2,)), fit_log_odds),
    Family(
        "naive Bayes",
        ((1.0,), (8.0,), (64.0,), (256.0,), (512.0,), (1024.0,)),
        lambda sample, smoothing: naive_bayes(smoothing).fit(sample),
    ),
    Family(
        "latent classes",
        ((2, 512.0), (4, 512.0)),
        lambda sample, n, smoothing: latent_classes(int(n), smoothing).fit(sample),
    ),
    Family("examples as states", ((0.9,), (0.95,), (0.98,)), _examples),
)
