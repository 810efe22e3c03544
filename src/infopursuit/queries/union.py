"""Several query sets about one table: numbers and categories beside a free text, an image, or functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from infopursuit.queries.columns import columns
from infopursuit.queries.frames import is_frame, is_missing, read_table
from infopursuit.queries.numbers import NumberScale
from infopursuit.queries.queryset import QuerySet, Recipe, from_manifest, to_manifest
from infopursuit.support.types import UNKNOWN, Answer, Number, Observed

Reads = str | int | list[str] | list[int] | None
"""The column or the columns of the table that a part reads; None for the whole table."""


class Union(QuerySet):
    """The queries of several query sets, each of which reads its own columns. Use `union`.

    A name that an earlier part has gets the column, or the kind of the query set, before it: "text: age".
    """

    kind = "union"

    def __init__(self, members: Sequence[QuerySet], reads: Sequence[Reads]) -> None:
        self.members, self.reads = tuple(members), tuple(reads)
        self.tabular = any(part.tabular for part in self.members)
        width, values = max(p.width for p in self.members), max(max(p.variables.sizes) for p in self.members)
        names: list[str] = []
        sentences: list[str] = []
        choices: list[tuple[str, ...]] = []
        labels: dict[int, tuple[str, ...]] = {}
        worded: set[int] = set()
        variables, cells = [], []
        self._first, self._first_variable = [0], [0]
        for part, of in zip(self.members, self.reads, strict=True):
            start, n = self._first[-1], len(part)
            prefix = of if isinstance(of, str) else part.kind
            names += [f"{prefix}: {name}" if name in names else name for name in part.names]
            in_column = part.kind == "words" and isinstance(of, str)
            sentences += [s.replace(" in the text?", f" in {of}?") if in_column else s for s in part.sentences]
            choices += [tuple(part.choices(q)) if len(part.cell_counts(q)) == 1 else () for q in range(n)]
            labels |= {start + q: each for q, each in part.number_labels.items()}
            worded |= {start + q for q in part.worded}
            mine, its = np.full((n, width), UNKNOWN), np.full((n, width, values), UNKNOWN)
            at = self._first_variable[-1]
            mine[:, : part.width] = np.where(part.query_variables >= 0, part.query_variables + at, UNKNOWN)
            its[:, : part.width, : part.query_cells.shape[2]] = part.query_cells
            variables.append(mine)
            cells.append(its)
            self._first.append(start + n)
            self._first_variable.append(at + len(part.variables))
        sizes = [size for part in self.members for size in part.variables.sizes]
        super().__init__(
            names, sizes, np.concatenate(variables), np.concatenate(cells), sentences=sentences, choices=choices
        )
        self.number_labels, self.worded = labels, frozenset(worded)

    def _place(self, query: int) -> tuple[QuerySet, int]:
        """The part that a query belongs to, and its index there."""
        which = int(np.searchsorted(self._first, query, side="right")) - 1
        return self.members[which], query - self._first[which]

    def read(self, X: Any) -> Observed:
        """What all parts read, each from its own columns, side by side."""
        found = [part.read(select(X, of)) for part, of in zip(self.members, self.reads, strict=True)]
        values, numbers, soft = np.concatenate([each.values for each in found], axis=1), None, None
        if any(each.numbers is not None for each in found):
            own = [np.full(e.values.shape, np.nan) if e.numbers is None else e.numbers for e in found]
            numbers = np.concatenate(own, axis=1)
        if any(each.soft is not None for each in found):
            told = zip(found, self.members, strict=True)
            soft = np.concatenate(
                [p.variables.one_hot(e.values) if e.soft is None else e.soft for e, p in told], axis=1
            )
        return Observed(values, numbers, soft)

    def scale(self, query: int) -> NumberScale | None:
        """As the part has it."""
        part, local = self._place(query)
        return part.scale(local)

    def say_cells(self, query: int, cells: tuple[int, ...]) -> str:
        """As the part says it."""
        part, local = self._place(query)
        return super().say_cells(query, cells) if len(cells) == 1 else part.say_cells(local, cells)

    def known_answers(self, key: str | int, value: Any) -> list[tuple[int, Answer | Number]]:
        """As the part has it."""
        queries = self.find(key, "known")
        part, local = self._place(queries[0])
        own = local if not isinstance(key, str) else part.names[local] if key in self.names else key
        return [(queries[0] - local + query, answer) for query, answer in part.known_answers(own, value)]

    @property
    def topics(self) -> list[tuple[str, str]]:
        """As the parts have them; a query that was renamed is its own."""
        own = [topic for part in self.members for topic in part.topics]
        old = [name for part in self.members for name in part.names]
        pairs = zip(self.names, old, own, strict=True)
        return [topic if name == before else (name, "") for name, before, topic in pairs]

    def to_spec(self) -> dict[str, Any]:
        return {"parts": [{"reads": of, **to_manifest(p)} for p, of in zip(self.members, self.reads, strict=True)]}

    @classmethod
    def from_spec(cls, spec: dict[str, Any], functions: Any = None) -> Self:
        reads = [_check_reads(each["reads"]) for each in spec["parts"]]
        return cls([from_manifest(each, functions) for each in spec["parts"]], reads)


def union(*parts: Any) -> Any:
    """The queries of several builders or query sets, about one table.

    Parameters
    ----------
    parts: query sets or builders such as ``ip.queries.columns()``; or pairs of what one reads and the builder: a
        column, ``("notes", ip.queries.words())``, or a list of columns, ``(["age", "sex"], ip.queries.columns())``.
        ``columns()`` by itself reads all columns that no other part names, anything else by itself the whole table. A
        column of images holds arrays. In an array, columns are numbers.

    Returns
    -------
    `Union`; where a part is not fitted a `Recipe`, which ``fit`` turns into one.

    >>> import infopursuit as ip
    >>> X = np.array([[31, "a sore throat"], [54, "throat, fever"], [48, "fever"], [61, "fever"]], dtype=object)
    >>> qs = union(ip.queries.columns(), (1, ip.queries.words(stem=False))).fit(X)
    >>> qs.names, qs.observe(X).tolist()
    (('x0', 'fever', 'throat'), [[0, 0, 1], [2, 1, 1], [1, 1, 0], [3, 1, 0]])
    """
    if not parts:
        raise ValueError("union needs one query set or more, such as union(columns(), ('text', words()))")
    pairs = [part if isinstance(part, tuple) else (None, part) for part in parts]
    for pair in pairs:
        if len(pair) != 2 or not hasattr(pair[1], "fit"):
            raise ValueError(f"parts has {pair!r:.80}; expected a query set, or a column and a query set")
        _check_reads(pair[0])
    reads, builders = [of for of, _ in pairs], [builder for _, builder in pairs]
    if all(isinstance(builder, QuerySet) for builder in builders):
        return Union(builders, reads)
    return Recipe(_fitted, {"parts": tuple(zip(reads, builders, strict=True))})


def _fitted(X: Any, *, parts: Any, sample_weight: Any = None) -> Union:
    taken = {name for of, _ in parts if of is not None for name in (of if isinstance(of, list) else [of])}
    names: list[Any] = (
        list(read_table(X).names) if is_frame(X) else list(range(np.shape(X)[1])) if np.ndim(X) == 2 else []
    )
    strange = [name for name in taken if name not in names]
    if strange:
        raise ValueError(f"X has no column {strange[0]!r}, which a part of the union reads")
    rest = [name for name in names if name not in taken]
    members: list[QuerySet] = []
    reads: list[Any] = []
    for of, builder in parts:
        alone = of is None and isinstance(builder, Recipe) and builder.build is columns and bool(taken)
        reads.append(rest if alone else of)
        given = builder
        if isinstance(builder, Recipe) and builder.build is columns and not is_frame(X) and reads[-1] is not None:
            named = builder.options["names"] or [f"x{j}" for j in reads[-1]]  # as in the whole array
            given = Recipe(columns, {**builder.options, "names": named})
        members.append(given.fit(select(X, reads[-1]), None, sample_weight))
    return Union(members, reads)


def select(X: Any, of: Reads) -> Any:
    """The columns of a table that a part reads: one as a list of its cells, or as a stack of images; several as a
    table."""
    if of is None:
        return X
    if is_frame(X):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        missing = [name for name in (of if isinstance(of, list) else [of]) if name not in frame.columns]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}, which a part of the union reads")
        found: Any = frame.select(of).to_native() if isinstance(of, list) else frame[of].to_list()
    else:
        array: Any = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        found = array[:, of]
        found = found if isinstance(of, list) else found.tolist()
    if isinstance(found, list):
        cell = next((cell for cell in found if not is_missing(cell)), None)
        return np.array(found) if isinstance(cell, (np.ndarray, list)) else found
    return found


def _check_reads(reads: Any) -> Any:
    """A column, a list of columns, or None."""
    listed = reads if isinstance(reads, list) else [reads]
    same = {type(each) for each in listed}
    if reads is None or (len(same) == 1 and same <= {str, int}):
        return reads
    raise ValueError(f"reads is {reads!r:.80}; expected a column, a list of columns, or None for the whole table")
