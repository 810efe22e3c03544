"""Pursuits over small images, to be drawn."""

import numpy as np

import infopursuit as ip


def pursue(shape, size, n_classes=3, stopping=None, classes=None, seed=0):
    """A made-up image and its explanation."""
    rng = np.random.default_rng(seed)
    probs = rng.uniform(0.1, 0.9, size=(n_classes, shape[0] * shape[1]))
    model = ip.models.TableModel(np.full(n_classes, 1 / n_classes), None, probs)
    queries = ip.queries.patches(shape, size=size)
    image = (rng.random(shape) < 0.5).astype(int)
    pursuit = ip.Pursuit(model, queries, stopping=stopping or ip.MaxQueries(3), classes=classes)
    return image, pursuit.run(image[None])[0]
