"""The rows as they were given, before queries looked at them: which are the same, and which columns number the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.linting.answers import Answers, take
from infopursuit.linting.finding import Finding, listed
from infopursuit.queries.columns import Columns, as_shares
from infopursuit.queries.tables import Column, read_table
from infopursuit.queries.words import Words
from infopursuit.types import UNKNOWN, IntArray

LEAST_NAMES = 30
"""A column of fewer cells than this is not taken for names, although all its cells differ."""


def row_matrix(answers: Answers, X: Any) -> Any:
    """(N, F) whole numbers that are the same where cells are the same; only of what the subjects are.

    The cells of a table, the texts behind words, and else the atoms.
    """
    queries = answers.queries
    if isinstance(queries, Columns):
        table = read_table(take(X, answers.rows) if len(answers.rows) < answers.n_rows else X)
        positions = _asked(queries, table.names)
        topics = queries.topics
        fields = {topics[subject.queries[0]][0] for subject in answers.subjects}
        kept = [p for p, field in zip(positions, queries.fields, strict=True) if field.name in fields]
        return np.stack([table.column(p).text()[0] for p in kept], axis=1).astype(np.int32)
    if isinstance(queries, Words):
        texts = take(X, answers.rows)
        texts = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
        seen: dict[Any, int] = {}
        return np.array([[seen.setdefault(str(text), len(seen))] for text in texts], dtype=np.int32)
    return answers.values[:, np.unique(queries.query_atoms[queries.query_atoms >= 0])]


def find_identifiers(answers: Answers, X: Any) -> list[Finding]:
    """Columns that differ from row to row, as names and numbers of rows do."""
    queries = answers.queries
    found: list[tuple[str, tuple[str, ...]]] = []
    if isinstance(queries, Columns):
        table = read_table(X)
        for position, field in zip(_asked(queries, table.names), queries.fields, strict=True):
            if is_identifier(table.column(position)):
                about = tuple(queries.names[q] for q, (topic, _) in enumerate(queries.topics) if topic == field.name)
                found.append((field.name, about))
    else:
        for s, subject in enumerate(answers.subjects):
            known = answers.codes[answers.known(s), s]
            if len(known) >= LEAST_NAMES and len(np.unique(known)) >= 0.9 * len(known):
                found.append((subject.name, answers.query_names((s,))))
    if not found:
        return []
    names = [name for name, _ in found]
    return [
        Finding(
            "identifier",
            "serious",
            f"{listed(names)} {'differs' if len(found) == 1 else 'differ'} from row to row, as a name or a number of "
            f"the row does: {answers.n_rows:,} rows, and (nearly) as many values.",
            "Leave it out (--drop on the command line): on new rows it tells nothing, and if rows are sorted by label "
            "it gives the label away.",
            tuple(name for _, about in found for name in about),
            {"columns": names, "rows": answers.n_rows},
        )
    ]


def is_identifier(column: Column) -> bool:
    """Whether a column names or numbers the rows: texts that hardly repeat, or whole numbers in a row without gaps.

    Measurements differ from row to row too; numbers are therefore taken for one only where they count on.
    """
    codes, _ = column.text()
    known = codes[codes != UNKNOWN]
    if len(known) < LEAST_NAMES:
        return False
    different = len(np.unique(known))
    if column.kind == "text":
        return different >= 0.9 * len(known) and as_shares(column) is None
    values = column.values
    if column.kind != "number" or values is None or different < len(known):
        return False
    numbers = values[~np.isnan(values)]
    whole = bool((numbers == np.round(numbers)).all())
    return whole and numbers.max() - numbers.min() < 1.05 * len(numbers)


def _asked(queries: Columns, names: tuple[str, ...]) -> list[int]:
    """Where the columns that queries ask about lie."""
    fields = [field.name for field in queries.fields]
    known = set(fields) <= set(names)
    order = names if known else queries.columns
    return [order.index(name) for name in fields]


def same_rows(matrix: Any) -> IntArray:
    """(N,) the same number for equal rows.

    >>> same_rows(np.array([[1, 2], [0, 2], [1, 2]])).tolist()
    [0, 1, 0]
    """
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in np.ascontiguousarray(matrix)], dtype=np.int64)
