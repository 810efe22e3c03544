"""How `tests/data/model_v1` was made. It is not made again: what it holds must stay readable as it is."""

import json
from pathlib import Path

import numpy as np

import infopursuit as ip

HERE = Path(__file__).parent / "model_v1"


def table():
    """Numbers, categories and yes/no with gaps; a mixture; string labels."""
    rng = np.random.default_rng(0)
    X = np.stack(
        [rng.integers(20, 80, 60), rng.choice(["cone", "dagger", "hooked"], 60), rng.integers(2, size=60)], axis=1
    )
    X = X.astype(object)
    X[:, 0], X[:, 2] = X[:, 0].astype(float), X[:, 2].astype(float)
    y = np.where((X[:, 0] > 50) ^ (X[:, 1] == "dagger"), "ill", "well")
    X[::7, 0], X[::11, 1] = None, None
    clf = ip.InformationPursuitClassifier(
        ip.queries.columns(bins=4, names=["age", "bill", "smoker"]),
        ip.models.latent_classes(2),
        stopping=ip.Confidence(0.02) | ip.MaxQueries(5),
        patience=1,
    )
    return clf.fit(X, y), X[:12], "object"


def examples():
    """Yes/no attributes with gaps; the examples themselves, flipped; whole numbers as labels."""
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=25)
    X = (
        rng.random((25, 6)) < np.array([[0.9, 0.8, 0.1, 0.2, 0.5, 0.5], [0.1, 0.2, 0.9, 0.8, 0.5, 0.5], [0.5] * 6])[y]
    ).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    queries = ip.queries.concepts([f"mark {i}" for i in range(6)])
    clf = ip.InformationPursuitClassifier(
        queries, ip.models.empirical(ip.models.Flip((0.1, 0.5))), stopping=ip.Confidence(0.1)
    )
    return clf.fit(X, 10 * y), X[:12], "float64"


def images():
    """Patches of small images; the examples themselves, blurred; booleans as labels."""
    rng = np.random.default_rng(2)
    y = rng.random(20) < 0.5
    X = np.zeros((20, 5, 5))
    X[y, :, :2], X[~y, :, 3:] = 1, 1
    X = np.abs(X - (rng.random(X.shape) < 0.1))
    queries = ip.queries.patches((5, 5), size=2)
    blur = ip.models.Blur((0.5, 1.0), (0.01, 0.05), (0.05, 0.1))
    clf = ip.InformationPursuitClassifier(queries, ip.models.empirical(blur), stopping=ip.Confidence(0.01))
    return clf.fit(X, y), X[:8], "float64"


if __name__ == "__main__":
    for name, make in (("table", table), ("examples", examples), ("images", images)):
        clf, X, dtype = make()
        clf.save(HERE / name)
        trace = clf.explain(X)
        unknown_is_null = json.loads(json.dumps(X.tolist()).replace("NaN", "null"))
        expected = {
            "X": unknown_is_null,
            "dtype": dtype,
            "classes": clf.classes_.tolist(),
            "posterior": trace.posterior.tolist(),
            "queries": trace.queries.tolist(),
            "predictions": trace.predictions.tolist(),
        }
        (HERE / f"{name}.json").write_text(json.dumps(expected) + "\n")
