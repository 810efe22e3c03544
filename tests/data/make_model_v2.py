"""How `tests/data/model_v2` was made, with the package as it was then. What it holds must stay readable as it is."""

import json
import sys
from pathlib import Path

import numpy as np
from infopursuit.temper import Temper
from infopursuit.trust.reference import from_model

import infopursuit as ip
from infopursuit.queries.wording import Wording, reword

NAMES = [f"mark {i}" for i in range(6)]


def marks(n=240):
    """A 0/1 matrix with gaps, of three classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    probable = np.array([[0.9] * 2 + [0.2] * 4, [0.2] * 2 + [0.9] * 2 + [0.2] * 2, [0.2] * 4 + [0.9] * 2])
    X = (rng.random((n, 6)) < probable[y]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def pursuit():
    """Everything that a pursuit can have: words, reliability, terms, checks, a temper, a reference."""
    rng = np.random.default_rng(4)
    queries = reword(ip.queries.concepts(NAMES), {"mark 1": Wording("Hat es Fell?", {"no": "nein", "yes": "ja"})})
    model = ip.models.TableModel([0.5, 0.3, 0.2], [[0.5, 0.5]] * 3, rng.uniform(0.05, 0.95, (3, 2, 6)))
    found = ip.Pursuit(
        model,
        queries,
        stopping=ip.Confidence(0.05, patience=1) | ip.MaxQueries(5) | ip.MaxCost(9.0),
        patience=1,
        seed=5,
        classes=["a", "b", "ß"],
        reliability=ip.Reliability(0.9, {"mark 3": [[0.8, 0.2], [0.1, 0.9]]}),
        terms=ip.Terms({"mark 0": 2, "mark 3": 0.5}, {"mark 2": ("mark 0", "yes"), "mark 4": "mark 3"}, ["mark 5"]),
        checks=1,
    ).with_temper(Temper(1.5))
    return found.with_reference(from_model(found, 40, progress=False)), marks(12)[0]


def calibrated():
    X, y = marks(900)
    clf = ip.InformationPursuitClassifier(
        ip.queries.concepts(NAMES), ip.models.latent_classes(2), stopping=ip.Confidence(0.05), random_state=3
    )
    clf.fit(X[:300], y[:300] > 0)
    return clf.calibrate(X[300:], y[300:] > 0, target=0.75, coverage=(0.9, 0.8), by_class=True), X[:12]


def bank():
    """A finite model with pruned enumeration, which was called a bank."""
    X, y = marks(40)
    queries = ip.queries.concepts(NAMES)
    model = ip.models.empirical(ip.models.Flip((0.1,))).fit(
        ip.models.Sample.of(queries.atoms, queries.observe(X), y, None, 3)
    )
    return ip.Pursuit(model, queries, "bank", ip.Confidence(0.1)).with_temper(Temper(1.25)), X[:12]


def vae():
    """A VAE whose particles are shared by all histories."""
    model = ip.models.VAE((2,) * 6, [0.2, 0.3, 0.5], ip.models.MLPBody((8, 4)), 2, seed=1)
    sampler = ip.posteriors.SMC(n_draws=40, least_ess=0, n_own=8, n_moves=2)
    return ip.Pursuit(model, ip.queries.concepts(NAMES), sampler, ip.Confidence(0.05) | ip.MaxQueries(4)).with_temper(
        Temper(1.25)
    ), marks(6)[0]


if __name__ == "__main__":
    root = Path(sys.argv[1])
    for make in (pursuit, calibrated, bank, vae):
        thing, X = make()
        ip.save(thing, root / make.__name__)
        trace = thing.run(X) if isinstance(thing, ip.Pursuit) else thing.explain(X)
        expected = {
            "X": json.loads(json.dumps(X.tolist()).replace("NaN", "null")),
            "classes": trace.classes.tolist(),
            "posterior": trace.posterior.tolist(),
            "queries": trace.queries.tolist(),
            "length": trace.length.tolist(),
            "stop_reason": list(trace.stopped_because),
            "surprise": [None if not np.isfinite(s) else float(s) for s in trace.surprise],
        }
        (root / f"{make.__name__}.json").write_text(json.dumps(expected) + "\n")
