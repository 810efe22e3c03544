"""Small pursuits of every kind, for what notebooks show."""

from functools import cache

import numpy as np

import infopursuit as ip

EVIL = '<script>alert("x")</script>&\x00'


@cache
def table():
    """Numbers with a unit, and categories."""
    rng = np.random.default_rng(0)
    size, colour = rng.normal(100, 20, 120).round(), rng.choice(["red", "blue", "green"], 120)
    X = np.array(list(zip(size.tolist(), colour.tolist(), strict=True)), dtype=object)
    asked = ip.queries.columns(names=["size", "colour"], units={"size": "cm"})
    clf = ip.InformationPursuitClassifier(asked, strategy="table", stopping=ip.Confidence(0.01) | ip.MaxQueries(2))
    return clf.fit(X, np.where(size > 100, "large", "small")), X


@cache
def images():
    rng = np.random.default_rng(0)
    X, y = np.zeros((40, 4, 5)), np.arange(40) % 2
    X[y == 1, 1:3, 1:4] = 1
    X = np.where(rng.random(X.shape) < 0.1, 1 - X, X)
    stopping = ip.Confidence(0.001) | ip.MaxQueries(3)
    return ip.InformationPursuitClassifier(ip.queries.patches((4, 5), size=2), strategy="table", stopping=stopping).fit(
        X, y
    ), X


@cache
def concepts(n=3):
    """Names that would be markup, and n classes."""
    model = ip.models.TableModel(np.full(n, 1 / n), None, np.random.default_rng(0).uniform(0.1, 0.9, (n, 4)))
    asked = ip.queries.concepts([EVIL, "b & c", "can fly", "swims"])
    return ip.generative_pursuit(model, asked, stopping=ip.MaxQueries(3), classes=[f"{EVIL}{c}" for c in range(n)])
