"""A table of facts: for each label what the answers are, or how often; made into questions and a `TableModel`.

Nobody has counted how often people answer otherwise than the table says. So a share of wrong answers is assumed and
stated, and one wrong answer does not rule a label out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.models.table import TableModel
from infopursuit.queries.columns import Columns, Field, YesNoField, as_shares, choose_field
from infopursuit.queries.tables import Column, read_table
from infopursuit.types import UNKNOWN, FloatArray, IntArray

ANSWER_ERROR = 0.02
"""How often an answer is taken to be another one than the table states, where nobody says."""


@dataclass(frozen=True)
class Facts:
    """What is stated about each label.

    queries: a question for each column. stated: (C, L) the share of each answer, NaN where the table has no cell.
    """

    queries: Columns
    stated: FloatArray

    def model(self, error: float = ANSWER_ERROR) -> TableModel:
        """Naive Bayes with these shares, all labels equally probable.

        An answer is another one than stated with probability ``error``, each of the others alike: P(v) = (1 - e) p_v +
        e (1 - p_v) / (V - 1). Where nothing is stated about a label, p is the mean over the other labels.
        """
        if not 0 < error < 0.5:
            raise ValueError(f"answer_error={error}; give a probability above 0 and below 0.5, such as {ANSWER_ERROR}")
        atoms = self.queries.atoms
        sizes = np.array(atoms.sizes)[atoms.slot_atom]  # (L,) values of the atom that a slot belongs to
        missing = np.isnan(self.stated)
        known = np.maximum((~missing).sum(axis=0), 1)
        typical = np.where(missing, 0.0, self.stated).sum(axis=0) / known
        shares = np.where(missing, typical, self.stated)
        answered = (1 - error) * shares + error * (1 - shares) / (sizes - 1)
        n_classes = len(shares)
        probs = np.zeros((n_classes, len(atoms), max(atoms.sizes)))
        probs[:, atoms.slots >= 0] = answered
        return TableModel(np.full(n_classes, 1 / n_classes), None, probs, sizes=atoms.sizes)

    def twins(self) -> list[list[int]]:
        """Groups of labels with the same facts, which no question can tell apart."""
        groups: dict[bytes, list[int]] = {}
        for c, row in enumerate(np.where(np.isnan(self.stated), -1.0, self.stated).round(9)):
            groups.setdefault(row.tobytes(), []).append(c)
        return [group for group in groups.values() if len(group) > 1]

    def draw(self, repeats: int, seed: int, wrong: float = 0.0) -> tuple[IntArray, IntArray]:
        """(C * repeats, A) answers as the table states them, and (C * repeats,) whose they are.

        What is stated as a share is drawn; what is not stated is not known. Of the known answers a share ``wrong`` is
        replaced by another one.
        """
        rng = np.random.default_rng(seed)
        atoms, n_classes = self.queries.atoms, len(self.stated)
        owners = np.repeat(np.arange(n_classes), repeats)
        values = np.empty((len(owners), len(atoms)), dtype=np.int64)
        for a, size in enumerate(atoms.sizes):
            shares = self.stated[owners, atoms.offsets[a] : atoms.offsets[a + 1]]  # (B, V)
            drawn = (rng.random((len(owners), 1)) >= np.cumsum(np.nan_to_num(shares), axis=1)[:, :-1]).sum(axis=1)
            other = (drawn + rng.integers(1, size, len(owners))) % size
            drawn = np.where(rng.random(len(owners)) < wrong, other, drawn)
            values[:, a] = np.where(np.isnan(shares[:, 0]), UNKNOWN, drawn)
        return values, owners


def read_facts(X: Any, y: IntArray, n_classes: int, *, bins: int = 10, yes_no: bool = False) -> Facts:
    """The facts of a table whose rows state what is true of labels y (B,).

    A cell of a yes/no column is yes, no, true, false, 0 or 1, "sometimes" (one half), or the share of yes, such as 0.7.
    Other columns hold categories or numbers. An empty cell is not known. Of several rows for a label the mean is taken.
    """
    table = read_table(X)
    fields: list[Field] = []
    blocks = []
    for position in range(len(table.names)):
        column = table.column(position)
        shares = as_shares(column)
        if shares is not None:
            fields.append(YesNoField(column.name))
            blocks.append(_mean(np.stack([1 - shares, shares], axis=1), y, n_classes))
            continue
        _refuse_sometimes(column)
        field = choose_field(column, np.ones(table.n_rows), bins=bins, yes_no=yes_no, max_categories=n_classes + 1)
        if field is None:
            raise ValueError(f"column {column.name!r} has fewer than two different known values; leave it out")
        values = field.encode(column)
        one_hot = np.where(values[:, None] == UNKNOWN, np.nan, values[:, None] == np.arange(field.size))
        fields.append(field)
        blocks.append(_mean(one_hot, y, n_classes))
    return Facts(Columns(table.names, fields, named=table.named), np.concatenate(blocks, axis=1))


def _mean(shares: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """(C, V) the mean over the rows of each label that state anything, NaN where none does."""
    known = ~np.isnan(shares[:, 0])
    counts = np.bincount(y[known], minlength=n_classes)[:, None]
    total = np.stack([np.bincount(y[known], weights=w, minlength=n_classes) for w in shares[known].T], axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.where(counts > 0, counts, np.nan))


def _refuse_sometimes(column: Column) -> None:
    """ "sometimes" beside words that are neither yes nor no would silently become a category."""
    if column.kind == "text":
        codes, labels = column.text()
        odd = [label for label in labels if label.strip().lower() == "sometimes"]
        if odd:
            others = [label for label in labels if label not in odd and not as_share(label)]
            row = int(np.flatnonzero(codes == labels.index(others[0]))[0])
            raise ValueError(
                f"column {column.name!r} has {odd[0]!r} beside {others[0]!r} (row {row}); a column with "
                f"'sometimes' holds yes, no, sometimes, or a share from 0 to 1"
            )


def as_share(label: str) -> bool:
    """Whether a single cell reads as yes, no, sometimes or a share.

    >>> as_share("0.7"), as_share("blue")
    (True, False)
    """
    return as_shares(Column("", "text", None, np.zeros(1, dtype=np.int64), (label,))) is not None
