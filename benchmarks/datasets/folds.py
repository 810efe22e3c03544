"""Cross-validation of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from infopursuit.app.datasets.dataset import Dataset, fold_numbers, parts


def folds(data: Dataset, n: int = 5, *, seed: int = 0) -> Iterator[Dataset]:
    """The data set n times, each time with another n-th of all its inputs to test on.

    Both parts are put together first; where there is an official split, results on folds cannot be compared with
    published ones. The same data, n and seed give the same folds, whoever asks.

    >>> from infopursuit.app.datasets import breast_cancer
    >>> next(folds(breast_cancer()))
    <breast_cancer: 455 inputs of 30 to learn from, 114 to test on, 2 classes>
    """
    pooled = {
        what: np.concatenate([getattr(data, f"{what}_train"), getattr(data, f"{what}_test")])
        for what in ("x", "y", "groups", "ids")
        if getattr(data, f"{what}_train", None) is not None
    }
    numbers = fold_numbers(pooled["y"], pooled.get("groups"), n=n, seed=seed)
    return (replace(data, **parts(numbers == fold, **pooled)) for fold in range(n))
