"""Small images of bars, and beliefs after some questions about each."""

import numpy as np

from quadrature import posterior_of, updated

SHAPE = (7, 7)


def bars(n, rng, shape=SHAPE, specks=0.05):
    """Small images: a bar down or a bar across, with specks."""
    labels = rng.integers(0, 2, n)
    images = (rng.random((n, *shape)) < specks).astype(np.int64)
    for image, label in zip(images, labels, strict=True):
        where = rng.integers(1, shape[0] - 1)
        if label:
            image[:, where] = 1
        else:
            image[where, :] = 1
    return images.reshape(n, -1), labels


def after(belief, values, asked):
    """(K, B, C) the posterior of each input after each of its own questions, and the last state."""
    b, rows, found = belief.init(), np.zeros(len(values), dtype=np.int64), []
    for k in range(asked.shape[1]):
        b = updated(belief, b, rows, asked[:, k], belief.queries.answers_of(values, asked[:, k]))
        rows = np.arange(len(values))
        found.append(posterior_of(belief, b))
    return np.array(found), b
