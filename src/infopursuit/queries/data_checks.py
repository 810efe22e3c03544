"""What `fit` says about a table: constant columns, identifiers, columns and labels that are not what they should be."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from infopursuit.queries.frames import Column, as_shares
from infopursuit.queries.queryset import QuerySet, shown
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

__all__ = [
    "constant",
    "find_leaks",
    "identifier",
    "leave_one_out_accuracy",
    "refuse_quantities",
    "warn_of_excluded",
    "warn_of_leaks",
]

MIN_NAMES = 30
"""Known cells that a column needs before it may be called an identifier."""
MIN_SCATTERED = 50
"""Known cells that are needed before numbers with gaps, as in a part of a table, may be called row numbers."""

MIN_SKILL = 0.95
"""A column leaks the label if it avoids this share of the errors of always naming the most frequent label."""
MIN_ROWS = 30
MIN_KNOWN = 0.1
"""A column is judged by this many rows in which it is known, and by this share of all rows."""
MIN_OTHER_ROWS = 8
"""... of which this many have another label than the most frequent one."""

MIN_NUMBERS = 20
ROWS_PER_CLASS = 3
"""More different numbers than `MIN_NUMBERS`, with fewer rows each than this on average, are a quantity."""


# ---- columns that are not asked about -------------------------------------------------------------------------------


def constant(column: Column) -> str:
    """Say whether a column has fewer than two different known values.

    Parameters
    ----------
    column : Column

    Returns
    -------
    str
        How it is constant; empty if it is not.

    Examples
    --------
    >>> constant(Column("site", "number", np.zeros(40)))
    'the same in every row'
    """
    codes, _ = column.coded()
    n_distinct = len(np.unique(codes[codes != UNKNOWN]))
    if n_distinct == 0:
        return "empty"
    return "the same in every row" if n_distinct == 1 else ""


def identifier(column: Column, min_names: int = MIN_NAMES) -> str:
    """Say what kind of identifier a column holds.

    A *name* is a text that hardly ever repeats. *Row numbers* are whole numbers that never repeat and
    leave few gaps; those of a random part of a table, such as the training part, lie between 0 and
    four times its number of rows. Measurements differ from row to row too, so that other numbers are
    not taken for identifiers.

    Parameters
    ----------
    column : Column
    min_names : int, default=30
        Known cells that an identifier has at least.

    Returns
    -------
    str
        The kind; empty if the column is not an identifier.

    Examples
    --------
    >>> identifier(Column("id", "number", np.arange(1.0, 41.0)))
    'row numbers'
    >>> identifier(Column("age", "number", np.ones(40)))
    ''
    """
    codes, _ = column.coded()
    known = codes[codes != UNKNOWN]
    n_known = len(known)
    n_distinct = len(np.unique(known))
    if n_known < min_names:
        return ""

    if column.kind == "text":
        is_name = n_distinct >= 0.9 * n_known and as_shares(column) is None
        return "a name: it differs from row to row" if is_name else ""

    if column.kind != "number" or column.values is None or n_distinct < n_known:
        return ""

    numbers = column.values[~np.isnan(column.values)]
    if (numbers != np.round(numbers)).any():
        return ""

    few_gaps = np.ptp(numbers) < 1.05 * n_known
    part_of_table = n_known >= MIN_SCATTERED and numbers.min() >= 0 and numbers.max() <= 4 * n_known
    return "row numbers" if few_gaps or part_of_table else ""


def warn_of_excluded(constants: Sequence[str], identifiers: Sequence[str]) -> None:
    """Warn about the columns that get no question.

    Parameters
    ----------
    constants : sequence of str
        Columns with fewer than two different known values.
    identifiers : sequence of str
        Columns for which `identifier` gave a kind.
    """
    if constants:
        warnings.warn(
            f"left out, for having fewer than two different known values: {shown(constants, 10)}",
            UserWarning,
            stacklevel=3,
        )

    if identifiers:
        warnings.warn(
            f"left out, for looking like identifiers, which say nothing about other rows "
            f"(keep=[...] asks about them): {shown(identifiers, 10)}",
            UserWarning,
            stacklevel=3,
        )


# ---- columns that give the label away -------------------------------------------------------------------------------


def warn_of_leaks(queries: QuerySet, values: IntArray, labels: IntArray) -> None:
    """Warn about columns that give the label away, each alone.

    Nothing is said where most columns do so: such labels are easy to tell.

    Parameters
    ----------
    queries : QuerySet
        About the columns of a table.
    values : (B, A) array of int
        The value of each variable, -1 where it is unknown.
    labels : (B,) array of int
    """
    leaks = find_leaks(values, labels)
    if not leaks or (len(leaks) > 1 and 2 * len(leaks) > values.shape[1]):
        return

    most_frequent = np.bincount(labels).max() / len(labels)
    names = [_column_of(queries, variable) for variable in leaks]
    accuracy = min(leaks.values())
    warnings.warn(
        f"a single column tells the label: {shown(names, 10)} (right in {100 * accuracy:.1f} % of the rows in which "
        f"it is known, while the most frequent label has {100 * most_frequent:.1f} % of all rows); leave out what is "
        f"recorded after the label is known",
        UserWarning,
        stacklevel=2,
    )


def find_leaks(values: IntArray, labels: IntArray) -> dict[int, float]:
    """Find the variables that tell the label by themselves.

    Parameters
    ----------
    values : (B, A) array of int
        The value of each variable, -1 where it is unknown.
    labels : (B,) array of int

    Returns
    -------
    dict of {int: float}
        For each variable that leaks the label, its leave-one-out accuracy.

    Examples
    --------
    >>> labels = np.arange(90) % 3
    >>> find_leaks(np.stack([labels, np.arange(90) % 2], axis=1), labels)
    {0: 1.0}
    """
    n_rows, n_variables = values.shape
    n_classes = int(labels.max()) + 1
    leaks = {}
    for variable in range(n_variables):
        known = values[:, variable] != UNKNOWN
        n_known = int(known.sum())
        if n_known < max(MIN_ROWS, MIN_KNOWN * n_rows):
            continue

        # counts: (V, C)
        pairs = values[known, variable] * n_classes + labels[known]
        n_values = int(values[known, variable].max()) + 1
        counts = np.bincount(pairs, minlength=n_values * n_classes).reshape(n_values, n_classes)
        n_others = n_known - int(counts.sum(axis=0).max())
        if n_others < MIN_OTHER_ROWS:
            continue

        accuracy = leave_one_out_accuracy(counts)
        skill = 1 - (1 - accuracy) * n_known / n_others
        if skill >= MIN_SKILL:
            leaks[variable] = accuracy
    return leaks


def leave_one_out_accuracy(counts: IntArray | FloatArray) -> float:
    """Compute how often the most frequent label among the other rows with the same value is right.

    A row whose value occurs once gets the most frequent label of all rows. Ties count as half right.

    Parameters
    ----------
    counts : (V, C) array
        How often each value and label occur together.

    Returns
    -------
    float
    """
    ordered = np.sort(counts, axis=1)
    largest = ordered[:, -1]
    second = ordered[:, -2]
    n_of_value = counts.sum(axis=1)

    # Without one row of the largest class, that class still leads, or it ties with the second.
    tied = np.where(largest - 1 == second, largest / 2, 0.0)
    n_right = np.where(largest - 1 > second, largest, tied)

    n_of_class = counts.sum(axis=0)
    most_frequent = int(n_of_class.argmax())
    right_by_default = (counts[:, most_frequent] == 1) & (n_of_class[most_frequent] > 1)
    n_right = np.where(n_of_value == 1, right_by_default, n_right)
    return float(n_right.sum() / counts.sum())


def _column_of(queries: QuerySet, variable: int) -> str:
    """The column that a variable belongs to."""
    query = int(np.flatnonzero((queries.query_variables == variable).any(axis=1))[0])
    return queries.topics[query][0]


# ---- labels ---------------------------------------------------------------------------------------------------------


def refuse_quantities(labels: Any, name: str, instead: str = "") -> None:
    """Refuse labels that look like a quantity: many different numbers, each in few rows.

    Parameters
    ----------
    labels : (B,) array-like
    name : str
        What the argument is called in the message.
    instead : str, optional
        What else the user can do, appended to the message.

    Raises
    ------
    ValueError
        If the labels look like the target of a regression.

    Examples
    --------
    >>> refuse_quantities([1, 2, 3] * 10, "y")
    """
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iuf":
        return

    n_distinct = len(np.unique(labels))
    fractional = labels.dtype.kind == "f" and bool((labels != np.floor(labels)).any())
    few_rows_each = len(labels) < ROWS_PER_CLASS * n_distinct
    if n_distinct > MIN_NUMBERS and (fractional or few_rows_each):
        raise ValueError(
            f"{name} has {n_distinct:,} different numbers in {len(labels):,} rows, which looks like a quantity (a "
            f"regression), not like classes; group the numbers into classes, as pandas.qcut does, or give them as "
            f"texts if they are names{instead}"
        )
