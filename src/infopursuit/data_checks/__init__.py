"""Checks of a table before a classifier is fitted: label leakage, useless and redundant queries, faulty rows."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

from infopursuit.data_checks.report import Finding, LintReport, in_order, quoted
from infopursuit.queries.columns import columns
from infopursuit.queries.queryset import Recipe
from infopursuit.queries.tables import read_table

__all__ = ["Finding", "LintReport", "lint"]


def lint(queries: Any, X: Any, y: Any, *, source: str = "", seed: int = 0) -> LintReport:
    """Look for label leakage, useless and redundant queries, missing answers, and faulty rows.

    Parameters
    ----------
    queries: a query set, or a builder such as ``ip.queries.columns()``, which is fitted on X; None guesses from X.
    X, y: inputs that the queries can be asked about, and their labels.
    source: the name of the data in the report.
    seed: of the rows that are sampled and held out.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = np.column_stack([rng.integers(0, 2, (200, 3)), y])
    >>> report = lint(None, X, y)
    >>> report.serious, report.of_kind("leak")[0].queries
    (True, ('x3',))
    """
    from infopursuit import queries as builders
    from infopursuit.data_checks import faults
    from infopursuit.data_checks.answers import read_answers, row_ids
    from infopursuit.explanation import percent

    builder = builders.guess(X) if queries is None else queries
    if not hasattr(builder, "fit"):
        raise ValueError(f"queries={builder!r}; expected a query set or a builder such as ip.queries.columns()")
    query_set, found = _fit(builder, X, y)
    table = read_answers(query_set, X, y, seed=seed)
    identifiers = faults.find_identifiers(table, X)
    table = table.without([name for finding in identifiers for name in finding.numbers["features"]])
    ids = row_ids(raw := table.raw_rows(X))
    duplicates = faults.count_duplicates(table, raw, seed)
    rows = faults.find_row_faults(table, ids, duplicates)
    constant, missing = faults.find_constant(table), faults.find_missing(table)
    found += [*identifiers, *rows, *constant, *missing, *faults.find_redundant(table), *faults.find_imbalance(table)]
    measured: dict[str, Any] = {"rows": {"distinct": duplicates.distinct, "in_training": duplicates.in_training}}
    notes = []
    if len(table.codes) < table.n_rows:
        notes.append(f"A random sample of {len(table.codes):,} of {table.n_rows:,} rows was checked.")
    if table.states_facts or any(f.kind == "class-level rows" and f.severity != "warning" for f in rows):
        notes.append("Label leakage needs rows that vary within a label: not checked.")
    else:
        leaks, best = faults.find_leaks(table.unique(ids) if duplicates.unexpected else table, seed=seed)
        found += leaks
        measured["leaks"] = best
        if best:
            share = percent(best["accuracy"])
            notes.append(f"The best single feature, {quoted(best['best_feature'])}, is right in {share} of the rows.")
    return LintReport(in_order(found), table.n_rows, len(query_set), len(table.classes), tuple(notes), measured, source)


def _fit(builder: Any, X: Any, y: Any) -> tuple[Any, list[Finding]]:
    """The query set, with identifiers, which are looked for later; and a finding for the columns that are constant."""
    if isinstance(builder, Recipe) and builder.build is columns:
        names = read_table(X, builder.options["names"]).names
        builder = replace(builder, options={**builder.options, "keep": names})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fewer than two different", UserWarning)
        query_set = builder.fit(X, y)
    asked = {field.name for field in getattr(query_set, "fields", ())}
    return query_set, _not_asked("constant", [name for name in getattr(query_set, "columns", ()) if name not in asked])


def excluded_findings(reasons: dict[str, str]) -> list[Finding]:
    """What `fit` would not ask about, by the reason for each column: names, row numbers, constant columns."""
    names = [name for name, why in reasons.items() if re.search("name|row number", why)]
    never = [name for name, why in reasons.items() if why in ("the same in every row", "empty")]
    return _not_asked("identifier", names) + _not_asked("constant", never)


def _not_asked(kind: Any, names: list[str]) -> list[Finding]:
    return [Finding.of(kind, "note", names, {"columns": names})] if names else []
