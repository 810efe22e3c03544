"""Labels: one class for each row, neither missing nor a quantity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from infopursuit.models.finite import check_prior
from infopursuit.queries.data_checks import refuse_quantities
from infopursuit.queries.frames import is_missing
from infopursuit.support.checks import number
from infopursuit.support.types import FloatArray


def check_labels(X: Any, y: Any, *, facts: bool = False) -> Any:
    """(B,) the labels of B inputs; refused where one is missing, or, but for facts, where they look like a quantity."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(y) != n:
        raise ValueError(f"X has {n} rows and y has {len(y)} labels (inconsistent numbers of samples); give as many")
    missing = [i for i, label in enumerate(y) if is_missing(label)]
    if missing:
        raise ValueError(f"y[{missing[0]}] is NaN or None: every row needs a label; leave rows without one out")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y holds an infinite value; labels must be finite numbers or strings")
    if not facts and (y.dtype.kind in "iu" or (y.dtype.kind == "f" and (y == np.floor(y)).all())):
        refuse_quantities(y, "y")
    # many different words are no numbers: a table of facts has one row for each class
    if not all(isinstance(label, str) for label in y):
        check_classification_targets(y)
    return y


def read_prior(class_prior: Any, classes: Any) -> FloatArray:
    """(C,) class probabilities, from an array in the order of the classes or from {label: probability}."""
    if isinstance(class_prior, Mapping):
        labels = classes.tolist()
        strange = [label for label in class_prior if label not in labels]
        absent = [label for label in labels if label not in class_prior]
        if strange or absent:
            wrong = f"class_prior names {strange[:3]} that are no classes and leaves out {absent[:3]}"
            raise ValueError(f"{wrong}; give one entry for each class")
        class_prior = [class_prior[label] for label in labels]
    return check_prior(class_prior, len(classes), "class_prior")


def read_class_weight(class_weight: Any, classes: Any, mass: FloatArray) -> FloatArray:
    """The factor by which the weight of the rows of each class is multiplied.

    Parameters
    ----------
    class_weight : None, "balanced" or mapping
        "balanced" makes all classes equally frequent; {label: factor}, where labels that are not named
        keep a factor of 1.
    classes : (C,) array
        The labels.
    mass : (C,) array of float
        The weight of the rows of each class.

    Returns
    -------
    (C,) array of float

    Examples
    --------
    >>> read_class_weight("balanced", np.array(["no", "yes"]), np.array([30.0, 10.0])).round(3).tolist()
    [0.667, 2.0]
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(mass.sum() / (len(classes) * np.maximum(mass, np.finfo(float).tiny)))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight={class_weight!r}; expected None, 'balanced', or {{label: weight}}")

    factors = dict.fromkeys(classes.tolist(), 1.0)
    for label, factor in class_weight.items():
        if label not in factors:
            raise ValueError(f"class_weight names {label!r}, which is not a class; the classes are {classes.tolist()}")
        factors[label] = number(factor, f"class_weight[{label!r}]", above=0)
    return np.array(list(factors.values()))
