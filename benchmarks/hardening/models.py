"""Small saved models of every kind, and inputs for each: what is altered, and what to compare with.

None is any good. Together they have all that a folder can hold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit import queries as asked
from infopursuit.calibration.novelty import NoveltyReference
from infopursuit.calibration.temperature import TemperatureScaling
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.estimator.storage import save
from infopursuit.models import MLPArchitecture, empirical, latent_classes, naive_bayes
from infopursuit.models.empirical import Blur, Flip
from infopursuit.models.networks.architectures import ConvArchitecture
from infopursuit.models.networks.autoencoder import VAE
from infopursuit.models.table import TableModel
from infopursuit.pursuit.costs import Constraints, Costs
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.noise import AnswerNoise
from infopursuit.pursuit.stopping import Confidence, InformationGain, MaxCost, MaxQueries
from infopursuit.queries.wording import Wording, reword
from infopursuit.strategies import SMC, Langevin
from infopursuit.strategies.generative.build import generative_pursuit

NAMES = [f"mark {i}" for i in range(6)]


@dataclass(frozen=True)
class Small:
    """A model, and inputs that it takes."""

    thing: InformationPursuitClassifier | Pursuit[Any]
    inputs: Any


def _marks(n: int = 240) -> tuple[Any, Any]:
    """A 0/1 matrix with gaps, of three classes."""
    chance = np.random.default_rng(0)
    y = np.arange(n) % 3
    probable = np.array([[0.9] * 2 + [0.2] * 4, [0.2] * 2 + [0.9] * 2 + [0.2] * 2, [0.2] * 4 + [0.9] * 2])
    X = (chance.random((n, 6)) < probable[y]).astype(float)
    X[chance.random(X.shape) < 0.05] = np.nan
    return X, y


def _table(n: int = 60) -> tuple[Any, Any]:
    """Numbers, categories, yes and no, dates; some are missing."""
    chance = np.random.default_rng(1)
    age = chance.uniform(20, 80, n).round(1)
    bill = chance.choice(["hooked", "dagger", "cöne"], n)
    since = np.datetime64("2020-01-01") + chance.integers(0, 900, n)
    rows = [
        [float(a), str(b), bool(c), d.item()]
        for a, b, c, d in zip(age, bill, chance.random(n) < 0.4, since, strict=True)
    ]
    X = np.array(rows, dtype=object)
    X[chance.random(X.shape) < 0.08] = None
    return X, np.where((age > 50) ^ (bill == "dagger"), "ill", "well")


def _images(n: int = 24) -> tuple[Any, Any]:
    """Black and white, 5 x 6, lit to the left or to the right."""
    chance = np.random.default_rng(2)
    y = np.arange(n) % 2
    X = np.zeros((n, 5, 6))
    X[y == 0, 1:4, :3], X[y == 1, 1:4, 3:] = 1, 1
    return np.abs(X - (chance.random(X.shape) < 0.1)), y


def _texts(n: int = 40) -> tuple[Any, Any]:
    words = [["trailer", "film", "actor"], ["senate", "votes", "law"]]
    chance = np.random.default_rng(3)
    y = np.arange(n) % 2
    return [" ".join(chance.permutation(words[c])[:2]) if i % 9 else None for i, c in enumerate(y)], y


# ---- one of each ----------------------------------------------------------------------------------------------------


def _concepts() -> Small:
    """Everything that a pursuit can have: words, noise, costs, constraints, calibrator, novelty."""
    chance = np.random.default_rng(4)
    queries = reword(asked.concepts(NAMES), {"mark 1": Wording("Hat es Fell?", {"no": "nein", "yes": "ja"})})
    model = TableModel([0.5, 0.3, 0.2], [[0.5, 0.5]] * 3, chance.uniform(0.05, 0.95, (3, 2, 6)))
    constraints = Constraints({"mark 2": ("mark 0", "yes"), "mark 4": "mark 3"}, ["mark 5"])
    pursuit = generative_pursuit(
        model,
        queries,
        stopping=Confidence(0.05, patience=1) | MaxQueries(5) | MaxCost(9.0),
        patience=1,
        seed=5,
        classes=["a", "b", "ß"],
        noise=AnswerNoise(0.9, {"mark 3": [[0.8, 0.2], [0.1, 0.9]]}),
        costs=Costs({"mark 0": 2, "mark 3": 0.5}),
        constraints=constraints,
        n_states=4,
        n_screened=3,
        memory_limit=2**20,
        calibrator=TemperatureScaling(1.5),
    )
    reference = NoveltyReference.from_model(pursuit, 40, progress=False)
    return Small(replace(pursuit, novelty=reference), _marks(12)[0])


def _columns() -> Small:
    X, y = _table()
    clf = InformationPursuitClassifier(
        asked.columns(names=["age", "bill", "smoker", "since"], bins=4), empirical(Flip()), stopping=Confidence(0.05)
    )
    return Small(clf.fit(X, y), X[:12])


def _panels() -> Small:
    X, y = _table()
    base = asked.columns(X, names=["age", "bill", "smoker", "since"], bins=3, yes_no=True)
    queries = asked.groups(base, {"visit": ["age", "smoker"]}, alone=True)
    clf = InformationPursuitClassifier(queries, naive_bayes(1.0), stopping=InformationGain(0.001))
    return Small(clf.fit(X, y), X[:12])


def _patches() -> Small:
    X, y = _images()
    clf = InformationPursuitClassifier(asked.patches((5, 6), size=2), empirical(Blur((0.6,), (0.02,))), dtype="float32")
    return Small(clf.fit(X, y), X[:12])


def _words() -> Small:
    X, y = _texts()
    queries = asked.words(size=6, stem=False, min_count=1, stop_words=["law"])
    return Small(InformationPursuitClassifier(queries, "table", random_state=3).fit(X, y), X[:12])


def _calibrated() -> Small:
    X, y = _marks(900)
    clf = InformationPursuitClassifier(asked.concepts(NAMES), latent_classes(2), stopping=Confidence(0.05))
    clf.fit(X[:300], y[:300] > 0)
    return Small(clf.calibrate(X[300:], y[300:] > 0, target=0.75, coverage=(0.9, 0.8), by_class=True), X[:12])


def _vae() -> Small:
    queries = asked.concepts(NAMES)
    model = VAE((2,) * 6, [0.2, 0.3, 0.5], MLPArchitecture((8, 4)), 2, seed=1)
    sampler = SMC(n_draws=40, n_own=8, n_moves=2)
    return Small(generative_pursuit(model, queries, sampler, Confidence(0.05) | MaxQueries(4)), _marks(6)[0])


def _chains() -> Small:
    X, _ = _images()
    queries = asked.patches((5, 6), size=2)
    model = VAE(queries.variables.sizes, [0.5, 0.5], ConvArchitecture((5, 6), (4, 4), 8), 2)
    sampler = Langevin(n_chains=4, n_steps=2, burn_in=1)
    return Small(generative_pursuit(model, queries, sampler, MaxQueries(2), n_screened=4), X[:2])


MODELS: dict[str, Callable[[], Small]] = {
    "calibrated": _calibrated,
    "chains": _chains,
    "columns": _columns,
    "concepts": _concepts,
    "panels": _panels,
    "patches": _patches,
    "vae": _vae,
    "words": _words,
}


def write_models(folder: Path) -> None:
    """Save one of each under its name, without a word about training data: these are made up."""
    logger = logging.getLogger("infopursuit.estimator.saving")
    before, logger.disabled = logger.disabled, True
    try:
        for name, make in MODELS.items():
            save(make().thing, folder / name)
    finally:
        logger.disabled = before
