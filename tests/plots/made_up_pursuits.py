"""Pursuits to be drawn: over small images, and told by hand."""

import numpy as np

import infopursuit as ip
from infopursuit.pursuit.explanation import Explanation, ExplanationStep

ANSWERS = {"yes": (1,), "no": (0,), "not known": None, "4": (2,)}


def pursue(shape, size, n_classes=3, stopping=None, classes=None, seed=0):
    """A made-up image and its explanation."""
    rng = np.random.default_rng(seed)
    probs = rng.uniform(0.1, 0.9, size=(n_classes, shape[0] * shape[1]))
    model = ip.models.TableModel(np.full(n_classes, 1 / n_classes), None, probs)
    queries = ip.queries.patches(shape, size=size)
    image = (rng.random(shape) < 0.5).astype(int)
    pursuit = ip.generative_pursuit(model, queries, stopping=stopping or ip.MaxQueries(3), classes=classes)
    return image, pursuit.run(image[None])[0]


def pursue_levels(shape, size, levels, channels, n_classes=3, seed=0):
    """A made-up grey or colour image, black at its darkest and white at its lightest, and its explanation."""
    rng = np.random.default_rng(seed)
    queries = ip.queries.patches(shape, size=size, levels=levels, channels=channels)
    probs = rng.dirichlet(np.ones(levels), size=(n_classes, len(queries.variables)))
    model = ip.models.TableModel(np.full(n_classes, 1 / n_classes), None, probs)
    image = rng.integers(0, levels, size=shape if channels == 1 else (*shape, 3)) / (levels - 1)
    return image, ip.generative_pursuit(model, queries, stopping=ip.MaxQueries(3)).run(image[None])[0]


def told(posteriors, said, names=None, classes=None):
    """An explanation with the posteriors given, the prior first, and one answer for each of the others."""
    names = names or [f"question {k}" for k in range(len(said))]
    steps = tuple(
        ExplanationStep(k, name, f"{name}?", ANSWERS[answer], answer, 0.1, 0.0, tuple(posterior), (k,))
        for k, (name, answer, posterior) in enumerate(zip(names, said, posteriors[1:], strict=True))
    )
    classes = tuple(classes or "abcdefghijkl"[: len(posteriors[0])])
    return Explanation(classes, tuple(posteriors[0]), steps, "confidence", len(steps), True)


def drawn_at_random(n_steps, n_classes, seed=0, **names):
    """Beliefs that wander about."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(n_steps + 1, n_classes)), axis=0)
    posteriors = np.exp(walk) / np.exp(walk).sum(axis=1, keepdims=True)
    return told(posteriors, rng.choice(["yes", "no", "not known"], n_steps).tolist(), **names)
