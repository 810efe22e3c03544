"""What the answers looked like in training: a small table that a classifier keeps, to compare later answers with."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.display import Brief
from infopursuit.models.sample import Sample
from infopursuit.types import FloatArray, Variables

MAX_CELLS = 100_000
"""Counts are kept for each class while they are no more than this many in all; beyond, for all classes together."""
ROUNDING = 1e-6
NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


@dataclass(frozen=True, repr=False, eq=False)
class AnswerProfile(Brief):
    """How often each value of each variable was seen in training.

    variables: how many values each variable has. n_rows: rows that were learnt from; with weights the number of rows of
    equal weight that would be as informative (Kish). class_weights: (C,) the weight of each class. values: (C, L) the
    weight of each variable value in each class, or (1, L) in all of them. fingerprint: a checksum of the training
    answers, labels and weights in any order.

    >>> variables = Variables((2, 3))
    >>> profile = AnswerProfile.of(Sample.of(variables, [[0, 2], [1, -1], [1, 1]], [0, 1, 1]), 3)
    >>> profile.values.tolist(), profile.missing.tolist()
    ([[1.0, 0.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, 1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]])
    """

    variables: Variables
    n_rows: float
    class_weights: FloatArray
    values: FloatArray
    fingerprint: str

    @classmethod
    def of(cls, sample: Sample, n_rows: float) -> AnswerProfile:
        """From what a model learns from."""
        values = sample.value_weights()
        if values.size > MAX_CELLS:
            values = values.sum(axis=0, keepdims=True)
        return cls(sample.variables, float(n_rows), sample.class_weights, values, _fingerprint(sample))

    @classmethod
    def of_values(cls, variables: Variables, values: Any) -> AnswerProfile:
        """From variable values (B, A) of inputs without labels."""
        values = variables.check(values)
        return cls.of(Sample.of(variables, values, np.zeros(len(values), dtype=np.int64)), len(values))

    @property
    def by_class(self) -> bool:
        """Whether the counts are those of each class."""
        return len(self.values) == len(self.class_weights)

    @cached_property
    def missing(self) -> FloatArray:
        """(C, A) or (1, A) the weight of the rows in which each variable was not known."""
        known = np.add.reduceat(self.values, self.variables.offsets[:-1], axis=1)
        total = self.class_weights if self.by_class else self.class_weights.sum(keepdims=True)
        left = total[:, None] - known
        return np.where(left > ROUNDING * total[:, None], left, 0.0)  # weights add up to within rounding only

    def counts(self, class_prior: FloatArray | None = None) -> tuple[FloatArray, FloatArray, float]:
        """How often each value (L,) and "not known" (A,) come among how many rows.

        ``class_prior`` (C,): as if the classes were that frequent: every class counts by its share, and the number of
        rows is that which is as informative, 1 / sum of share^2 / rows.
        """
        rows = self.class_weights * self.n_rows / self.class_weights.sum()  # (C,)
        if class_prior is None or not self.by_class:
            scale = self.n_rows / self.class_weights.sum()
            return scale * self.values.sum(axis=0), scale * self.missing.sum(axis=0), self.n_rows
        seen = rows > 0
        share = np.where(seen, class_prior, 0.0)
        share = share / share.sum()
        n = 1 / (share[seen] ** 2 / rows[seen]).sum()
        each = n * share[seen] / self.class_weights[seen]
        return each @ self.values[seen], each @ self.missing[seen], float(n)

    # ---- as JSON data -----------------------------------------------------------------------------------------------

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes the profile again; rows of numbers are one text each."""
        return {
            "n_rows": self.n_rows,
            "fingerprint": self.fingerprint,
            "class_weights": _write(self.class_weights),
            "values": [_write(row) for row in self.values],
        }

    @classmethod
    def from_spec(cls, spec: dict[str, Any], variables: Variables, n_classes: int) -> AnswerProfile:
        """The profile that `to_spec` took apart, checked as if a stranger had written it."""
        n_rows, fingerprint, rows = spec["n_rows"], spec["fingerprint"], spec["values"]
        if type(n_rows) not in (int, float) or not 0 < n_rows < 1e15:
            raise ValueError(f"n_rows of the profile is {n_rows!r}; expected a positive number")
        if not isinstance(fingerprint, str) or not re.fullmatch(r"[0-9a-f]{8,64}", fingerprint):
            raise ValueError(f"the fingerprint of the profile is {fingerprint!r:.80}; expected hexadecimal digits")
        if not isinstance(rows, list) or len(rows) not in (1, n_classes):
            raise ValueError(f"the profile must have one row of counts, or one for each of the {n_classes} classes")
        weights = _read(spec["class_weights"], n_classes, "class_weights")
        values = np.stack([_read(row, variables.n_slots, "values") for row in rows])
        if weights.sum() <= 0:
            raise ValueError("the profile has no rows of positive weight")
        total = weights if len(values) == len(weights) else weights.sum(keepdims=True)
        known = np.add.reduceat(values, variables.offsets[:-1], axis=1)
        if (known > (1 + ROUNDING) * total[:, None] + ROUNDING).any():
            raise ValueError("the profile counts more values of a variable than there are rows")
        return cls(variables, float(n_rows), weights, values, fingerprint)


def effective_rows(weights: Any, n: int) -> float:
    """Kish's number of rows: (sum of weights)^2 / sum of their squares; n where there are no weights.

    >>> effective_rows([1, 1, 0, 2], 4)
    2.6666666666666665
    """
    if weights is None:
        return float(n)
    weights = np.asarray(weights, dtype=np.float64)
    weights = weights / max(weights.max(initial=0.0), np.finfo(np.float64).tiny)  # squares of 1e200 are infinite
    return float(weights.sum() ** 2 / (weights**2).sum())


def _fingerprint(sample: Sample) -> str:
    digest = hashlib.blake2b(repr((sample.variables.sizes, sample.n_classes)).encode(), digest_size=16)
    for array, kind in ((sample.values, "<i4"), (sample.labels, "<i8"), (sample.weights, "<f8")):
        for start in range(0, len(array), 4096):  # a copy of 60,000 images in another type would take its memory again
            digest.update(np.ascontiguousarray(array[start : start + 4096], dtype=kind).tobytes())
    return digest.hexdigest()


def _write(row: FloatArray) -> str:
    return " ".join(f"{number:.17g}" for number in row)


def _read(text: Any, n: int, name: str) -> FloatArray:
    words = text.split(" ", n) if isinstance(text, str) else []
    if len(words) != n or not all(NUMBER.fullmatch(word) for word in words):
        raise ValueError(f"{name} of the profile must be {n} numbers, none negative, with spaces between them")
    numbers = np.array([float(word) for word in words])
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} of the profile holds a number that is too large")
    return numbers
