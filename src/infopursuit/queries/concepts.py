"""Yes/no attributes, given as a 0/1 matrix in which NaN means "not known"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from infopursuit.queries.frames import is_frame, read_table
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import UNKNOWN, FloatArray, Observed


class Concepts(QuerySet):
    """A yes/no query for each column of a 0/1 matrix, in which NaN means "not known".

    Parameters
    ----------
    names: the names of the columns, all different.
    sentences: how each is asked; by default the name with a question mark.
    choices: for each query what "no" and "yes" are called.
    presence: True reads any number other than 0 as "yes", as in a table of word counts.
    soft: True reads numbers from 0 to 1 as soft answers, such as the concept scores of a network: 0.8 is what a session
        is told with ``answer({"yes": 0.8, "no": 0.2})``. 0 and 1 are certain, 0.5 tells nothing. Training takes the
        more probable answer.

    >>> qs = concepts(["has a beak", "can fly"])
    >>> qs[1].sentence, qs.say(1, (0,))
    ('can fly?', 'can fly: no')
    >>> qs.observe([[1, float("nan")]]).tolist()
    [[1, -1]]
    >>> scores = concepts(["has a beak", "can fly"], soft=True).read([[0.8, 0.0]])
    >>> scores.values.tolist(), scores.soft.round(2).tolist()
    ([[1, 0]], [[0.2, 0.8, 1.0, 0.0]])
    """

    kind = "concepts"
    spec: ClassVar = {"names": "texts", "sentences": "texts", "choices": "rows?", "presence": "flag", "soft": "flag?"}

    def __init__(
        self,
        names: Sequence[str],
        *,
        sentences: Sequence[str] | None = None,
        choices: Sequence[Sequence[str]] | None = None,
        presence: bool = False,
        soft: bool | None = False,
    ) -> None:
        if isinstance(names, str):
            raise ValueError(f"names is the text {names!r}; give a list of names, one for each column")
        if presence and soft:
            raise ValueError("presence=True reads a number as a count, soft=True as a probability; give one of them")
        self.presence, self.soft = presence, bool(soft)
        super().__init__(names, [2] * len(names), np.arange(len(names))[:, None], sentences=sentences, choices=choices)

    def read(self, X: Any) -> Observed:
        """(B, A) answers as 0 and 1, -1 where X has NaN; where they are soft the more probable one, -1 for 0.5, and
        their probabilities.

        A frame that has all the names is read by name, everything else by position. A sparse matrix says what is there:
        a stored number other than 0 is "yes".
        """
        given = matrix = self._matrix(X.toarray() if hasattr(X, "tocoo") else X)
        missing = np.isnan(matrix)
        if self.presence or hasattr(X, "tocoo"):
            matrix = np.where(missing, matrix, matrix != 0)
        bad = ~missing & (((matrix < 0) | (matrix > 1)) if self.soft else ((matrix != 0) & (matrix != 1)))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            wrong = f"X[{row}, {column}] is {matrix[row, column]:g}, but {self.names[column]!r} is a yes/no query"
            probability = "a probability from 0 to 1" if self.soft else "0, 1 or NaN, probabilities with soft=True"
            raise ValueError(f"{wrong}; give {probability}, or use ip.queries.columns for numbers and categories")
        values = np.where(missing | (matrix == 0.5), UNKNOWN, matrix > 0.5).astype(np.int64)
        return Observed(
            values, soft=np.stack([1 - given, given], axis=2).reshape(len(given), 2 * len(self)) if self.soft else None
        )

    def to_spec(self) -> dict[str, Any]:
        choices = None if self._choices is None else [list(names) for names in self._choices]
        return {**super().to_spec(), "choices": choices}

    def _matrix(self, X: Any) -> FloatArray:
        """(B, Q) the numbers of a dense X."""
        if not is_frame(X):
            try:
                matrix = np.asarray(X.detach() if hasattr(X, "detach") else X, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"X must hold 0, 1 and NaN only; {error}") from None
            if matrix.shape == (len(self),):
                matrix = matrix[None]  # a single input
            self._check_width(matrix.shape)
            return matrix
        table = read_table(X)
        if set(self.names) <= set(table.names):
            order = [table.names.index(name) for name in self.names]
        else:
            self._check_width((table.n_rows, len(table.names)))
            order = list(range(len(self)))
        return np.stack([table.column(position).numbers() for position in order], axis=1)

    def _check_width(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[1] != len(self):
            raise ValueError(f"X has shape {shape}; expected (inputs, {len(self)}), one column for each query")


concepts = Concepts
"""The name of the builder, as of the other query sets."""
