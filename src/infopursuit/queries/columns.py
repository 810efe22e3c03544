"""Columns of a table: is this number greater than a threshold, which category is it, yes or no."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from infopursuit.queries.fields import Field, choose_field, field_from_spec, field_to_spec
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.recipe import Recipe
from infopursuit.queries.stated import flag, texts
from infopursuit.queries.tables import Table, read_table
from infopursuit.queries.weights import check_weights
from infopursuit.types import UNKNOWN, IntArray


class Columns(QuerySet):
    """Queries about the columns of a table; every column that is asked about is one atom.

    Parameters
    ----------
    columns: the names of all columns of the training table, in its order.
    fields: what is asked about those that carry a question.
    named: True when the training table had names, so that columns are found by name; False finds them by position.
    sentences: how each query is asked.
    """

    kind = "columns"

    def __init__(
        self, columns: Sequence[str], fields: Sequence[Field], *, named: bool, sentences: Sequence[str] | None = None
    ) -> None:
        self.columns, self.fields, self.named = tuple(columns), tuple(fields), named
        asked = [(atom, query) for atom, field in enumerate(self.fields) for query in field.queries()]
        sizes = [field.size for field in self.fields]
        cells = np.full((len(asked), 1, max(sizes)), UNKNOWN)
        for index, (_, query) in enumerate(asked):
            cells[index, 0, : len(query.cells)] = query.cells
        super().__init__(
            names=[query.name for _, query in asked],
            sizes=sizes,
            atoms=np.array([atom for atom, _ in asked])[:, None],
            cells=cells,
            sentences=sentences if sentences is not None else [query.sentence for _, query in asked],
            choices=[query.choices for _, query in asked],
        )

    def observe(self, X: Any) -> IntArray:
        """(B, A) which bin or category each column has, -1 where it is missing or a category new since training.

        Frames are matched by name, whatever the order of their columns; arrays by position.
        """
        table = read_table(X)
        positions = self._positions(table)
        values = np.empty((table.n_rows, len(self.fields)), dtype=np.int64)
        for atom, field in enumerate(self.fields):
            values[:, atom] = field.encode(table.column(positions[field.name]))
        return values

    @property
    def topics(self) -> list[tuple[str, str]]:
        """For each query its column, and the threshold or category that it asks for."""
        return [(field.name, query.shown) for field in self.fields for query in field.queries()]

    def to_spec(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "fields": [field_to_spec(field) for field in self.fields],
            "named": self.named,
            "sentences": list(self.sentences),
        }

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Columns:
        names = texts(spec, "columns")
        fields = [field_from_spec(field) for field in spec["fields"]]
        strange = [field.name for field in fields if field.name not in names]
        if strange or not fields:
            raise ValueError(f"fields has {strange[:1]!r:.80}; expected one or more, each called like a column")
        return cls(names, fields, named=flag(spec, "named"), sentences=texts(spec, "sentences"))

    def _positions(self, table: Table) -> dict[str, int]:
        """Where each column of the training table lies in this one."""
        missing = [field.name for field in self.fields if field.name not in table.names]
        if table.named and not missing:
            return {name: position for position, name in enumerate(table.names)}
        if table.named and self.named:
            raise ValueError(
                f"X has no column {missing[0]!r}; its columns are {_shown(table.names)}. Give a table with the columns "
                f"of the training table"
            )
        if len(table.names) != len(self.columns):
            raise ValueError(
                f"X has {len(table.names)} columns; expected {len(self.columns)} as in training: {_shown(self.columns)}"
            )
        return {name: position for position, name in enumerate(self.columns)}


@overload
def columns(
    X: None = None,
    *,
    bins: int = ...,
    yes_no: bool = ...,
    names: Sequence[str] | None = ...,
    max_categories: int = ...,
    sentences: Mapping[str, str] | None = ...,
    sample_weight: Any = ...,
) -> Recipe: ...
@overload
def columns(
    X: Any,
    *,
    bins: int = ...,
    yes_no: bool = ...,
    names: Sequence[str] | None = ...,
    max_categories: int = ...,
    sentences: Mapping[str, str] | None = ...,
    sample_weight: Any = ...,
) -> Columns: ...
def columns(
    X: Any = None,
    *,
    bins: int = 10,
    yes_no: bool = False,
    names: Sequence[str] | None = None,
    max_categories: int = 50,
    sentences: Mapping[str, str] | None = None,
    sample_weight: Any = None,
) -> Columns | Recipe:
    """Queries about the columns of a table: thresholds for numbers and dates, whole categories, yes or no for 0 and 1.

    Missing values (NaN, None, empty text) are not known. A column with fewer than two different known values carries no
    question and is left out with a warning.

    Parameters
    ----------
    X: the training table (2-D array, pandas or polars frame, pyarrow table); None waits for it.
    bins: a column of numbers gets at most ``bins - 1`` thresholds, at weighted quantiles, rounded to few digits.
    yes_no: True asks about each category by itself: "bill shape is dagger".
    names: what the columns of an array are called; ``x0``, ``x1``, ... where nothing is given.
    max_categories: with more categories than this the rarest share the answer "other".
    sentences: another wording by name of a query or of a column; ``{}`` stands for the threshold or category.
    sample_weight: (B,) how often each row counts for the thresholds and the frequent categories.

    >>> X = np.array([["male", 31], ["female", 54], ["female", 48], ["male", 54]], dtype=object)
    >>> qs = columns(X, names=["sex", "age"])
    >>> qs.names, qs[0].sentence, qs[0].choices
    (('sex', 'age > 40', 'age > 50'), 'Which sex?', ('female', 'male'))
    >>> qs.observe([["female", 60], [None, 45]]).tolist()
    [[0, 2], [-1, 1]]
    """
    options: dict[str, Any] = {
        "bins": bins, "yes_no": yes_no, "names": names, "max_categories": max_categories, "sentences": sentences,
    }  # fmt: skip
    for name, least in (("bins", 2), ("max_categories", 2)):
        if not isinstance(options[name], (int, np.integer)) or options[name] < least:
            raise ValueError(f"{name} is {options[name]!r}; give a whole number of at least {least}")
    if X is None:
        return Recipe(columns, options)
    table = read_table(X, names)
    shape = (table.n_rows, len(table.names))
    if 0 in shape:  # worded as scikit-learn does, whose checks read it
        what = "sample" if shape[0] == 0 else "feature"
        raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
    weights = check_weights(sample_weight, table.n_rows)
    chosen = [
        choose_field(table.column(j), weights, bins=int(bins), yes_no=yes_no, max_categories=int(max_categories))
        for j in range(len(table.names))
    ]
    fields = [field for field in chosen if field is not None]
    constant = [name for name, field in zip(table.names, chosen, strict=True) if field is None]
    if not fields:
        raise ValueError(
            f"X has n_samples = {table.n_rows}, but none of its columns ({_shown(table.names)}) has two different "
            f"known values, so there is nothing to ask; give rows that differ"
        )
    if constant:
        reason = "left out, for having fewer than two different known values"
        warnings.warn(f"{reason}: {_shown(constant)}", UserWarning, stacklevel=2)
    return Columns(table.names, fields, named=table.named, sentences=_word(fields, table.names, sentences))


def _word(fields: Sequence[Field], names: Sequence[str], sentences: Mapping[str, str] | None) -> list[str]:
    """How every query is asked, with the user's wordings in place."""
    wordings = dict(sentences or {})
    worded: list[str] = []
    known = set(names)
    for field in fields:
        asked = field.queries()
        known |= {query.name for query in asked}
        for query in asked:
            wording = wordings.get(query.name, wordings.get(field.name))
            if wording is None:
                worded.append(query.sentence)
            elif "{}" not in wording and query.name not in wordings and len(asked) > 1:
                raise ValueError(
                    f"sentences[{field.name!r}] is {wording!r}, which would word {len(asked)} different queries alike; "
                    f"write {{}} where the threshold or category stands"
                )
            else:
                worded.append(wording.replace("{}", query.shown))
    # A threshold that another fold of the data would have is no mistake; a column that does not exist is.
    possible = tuple(f"{name} {verb} " for name in names for verb in (">", "is"))
    stray = [key for key in wordings if key not in known and not key.startswith(possible)]
    if stray:
        raise ValueError(f"sentences names {stray[0]!r}, neither a column nor a query; the columns are {_shown(names)}")
    return worded


def _shown(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
