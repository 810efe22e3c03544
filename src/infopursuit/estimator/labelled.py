"""A table with a column of labels: which columns are asked about, which are left out and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.estimator.table_files import read_frame
from infopursuit.models.folds import number_keys
from infopursuit.queries.data_checks import constant, identifier, refuse_quantities
from infopursuit.queries.frames import is_missing, read_table
from infopursuit.queries.queryset import near
from infopursuit.support.types import IntArray

FEW = 3
"""With fewer rows than this for a label, on average, a table is one of facts: there is nothing to hold out."""
LEAST_NAMES = 8
"""A column of fewer cells than this is never taken for names or row numbers: tables of facts are short."""


@dataclass(frozen=True)
class LabelledTable:
    """Rows with labels.

    X: the columns that are asked about, a data frame of the library that the table came in, or an Arrow table.
    classes, y: the labels, and (B,) which of them each row has.
    left_out: the columns that are not asked about, each with the reason. unlabelled: rows that had no label.
    facts: each row states what is true of its label, rather than being one example of many. why: how that was decided.
    groups: (B,) the same number for rows that belong together, None where nobody said. name: the column of the labels.
    """

    X: Any
    classes: Any
    y: IntArray
    left_out: dict[str, str]
    unlabelled: int
    facts: bool
    why: str
    groups: IntArray | None = None
    name: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are asked about."""
        return read_table(self.X).names

    @property
    def labels(self) -> Any:
        """(B,) the label of each row."""
        return self.classes[self.y]


def label_table(
    table: Any,
    label: str,
    *,
    facts: bool | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    group: str | None = None,
    max_rows: int | None = None,
    seed: int = 0,
) -> LabelledTable:
    """Split a table, a file or a data frame of any library, into columns to ask about and labels.

    Columns that cannot be asked about are left out: those in ``drop``, those with fewer than two different values, and,
    unless in ``keep``, names (texts that differ from row to row) and row numbers. group: a column, not asked about,
    whose equal cells say which rows belong together, such as those of one patient. max_rows: see `read_frame`.
    """
    frame = read_frame(table, max_rows, seed)
    names = frame.columns
    for argument, wanted in (
        ("label", (label,)),
        ("drop", drop),
        ("keep", keep),
        ("group", () if group is None else (group,)),
    ):
        for name in wanted:
            if name not in names:
                raise ValueError(f"{argument}={name!r} is no column of the table; {near(name, names)}")
    if label in drop:
        raise ValueError(f"drop={label!r} is the column of the labels; leave it out of drop")
    cells = [_label(cell) for cell in frame[label].to_list()]
    known = np.array([cell is not None for cell in cells], dtype=bool)
    if not known.any():
        raise ValueError(f"label={label!r} is an empty column; every row needs a label")
    numbered = all(type(cell) is int for cell in cells) and len(set(cells)) == len(cells)  # a row for each: names
    if facts is False or (facts is None and not numbered):
        given = [cell for cell in frame[label].to_list() if not is_missing(cell)]
        refuse_quantities(given, f"label={label!r}", ", or say facts=True (--facts) if a row states facts")
    frame = frame[np.flatnonzero(known)].drop(label)
    groups = None if group is None else number_keys(frame[group].to_list())
    labels = [cell for cell in cells if cell is not None]
    if len({type(cell) for cell in labels}) > 1:
        labels = [str(cell) for cell in labels]
    classes, y = np.unique(np.array(labels), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"label={label!r} has one label only, {labels[0]!r}; there is nothing to find out")
    left_out = dict.fromkeys(drop, "as you said") | ({} if group is None else {group: "the groups"})
    left_out |= _left_out(frame.drop(list(left_out)).to_native(), keep)
    if len(left_out) == frame.shape[1]:
        shown = ", ".join(f"{name} ({why})" for name, why in list(left_out.items())[:6])
        raise ValueError(f"no column is left to ask about: {shown or 'there is only that of the labels'}")
    is_facts, why = _is_facts(len(y), len(classes), facts)
    X = frame.drop(list(left_out)).to_native()
    return LabelledTable(X, classes, y, left_out, int((~known).sum()), is_facts, why, groups, label)


def _is_facts(n_rows: int, n_labels: int, said: bool | None) -> tuple[bool, str]:
    if said is not None:
        return said, "as you said"
    each = "each label has one row" if n_rows == n_labels else f"{n_rows:,} rows for {n_labels:,} labels"
    return n_rows < FEW * n_labels, each


def _left_out(frame: Any, keep: Sequence[str]) -> dict[str, str]:
    table = read_table(frame)
    reasons = {}
    for position, name in enumerate(table.names):
        column = table.column(position)
        reason = constant(column)
        if not reason and name not in keep:
            reason = identifier(column, LEAST_NAMES)
        if reason:
            reasons[name] = reason
    return reasons


def _label(cell: Any) -> Any:
    if is_missing(cell):
        return None
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    if isinstance(cell, (int, np.integer)) or (isinstance(cell, (float, np.floating)) and float(cell).is_integer()):
        return int(cell)
    return str(cell)
