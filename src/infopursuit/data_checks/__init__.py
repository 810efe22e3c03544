"""Checks of a table before a classifier is fitted: label leakage, useless and redundant queries, faulty rows."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

from infopursuit.data_checks.report import Finding, LintReport, in_order, percent, quoted
from infopursuit.progress import Progress
from infopursuit.queries.columns import columns
from infopursuit.queries.queryset import Recipe
from infopursuit.queries.tables import read_table

__all__ = ["Finding", "LintReport", "lint"]


def lint(
    queries: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    model: Any = None,
    source: str = "",
    seed: int = 0,
    progress: bool | None = None,
) -> LintReport:
    """Look for label leakage, useless and redundant queries, missing answers, and faulty rows.

    Parameters
    ----------
    queries: a query set, or a builder such as ``ip.queries.columns()``, which is fitted on X; None guesses from X.
    X, y: inputs that the queries can be asked about, and their labels.
    groups: (B,) equal values for rows that belong together, such as visits of one patient; they are held out together.
    model: a fitted classifier or a `Pursuit`, whose posterior after all answers is compared with a baseline; None
        fits one on part of the rows, as does a name or learner that `InformationPursuitClassifier` takes; False
        compares none.
    source: the name of the data in the report.
    seed: of the rows that are sampled and held out.
    progress: True shows progress, None on a terminal only.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = np.column_stack([rng.integers(0, 2, (200, 3)), y])
    >>> report = lint(None, X, y, model=False)
    >>> report.serious, report.of_kind("leak")[0].queries
    (True, ('x3',))
    """
    from infopursuit import queries as builders
    from infopursuit.data_checks.answers import read_answers, row_ids, skill
    from infopursuit.data_checks.baselines import find_insufficient, is_right, split_rows, sufficiency_text
    from infopursuit.data_checks.queries import find_constant, find_leaks, find_redundant, find_uninformative
    from infopursuit.data_checks.rows import find_identifiers, find_missing, find_row_faults

    builder = builders.guess(X) if queries is None else queries
    if not hasattr(builder, "fit"):
        raise ValueError(f"queries={builder!r}; expected a query set or a builder such as ip.queries.columns()")
    with Progress("linting", 6, show=progress) as shown:
        query_set, found = _fit(builder, X, y)
        table = read_answers(query_set, X, y, groups, seed=seed)
        shown.advance()
        identifiers = find_identifiers(table, X)
        table = table.without([name for finding in identifiers for name in finding.numbers["features"]])
        raw = table.raw_rows(X)
        faults, duplicates = find_row_faults(table, raw, seed=seed)
        measured: dict[str, Any] = {"rows": {"distinct": duplicates.distinct, "in_training": duplicates.in_training}}
        shown.advance()
        constant, never = find_constant(table)
        missing, suspects = find_missing(table)
        found += [*identifiers, *faults, *never, *missing, *find_redundant(table, constant)]
        shown.advance()
        notes = []
        if len(table.codes) < table.n_rows:
            notes.append(f"Answers were counted in {len(table.codes):,} of {table.n_rows:,} rows, sampled at random.")
        if table.states_facts or any(f.kind == "class-level rows" and f.severity != "warning" for f in faults):
            notes.append(
                "Leakage, uninformative queries and sufficiency need rows that vary within a label: not checked."
            )
            shown.advance(3)
        else:
            grouped = duplicates.unexpected
            split = split_rows(table, grouped=grouped, seed=seed)
            counted = table.unique(row_ids(raw)) if grouped else table
            right = is_right(table, split, seed=seed)
            leaks, leaking, pairs, best = find_leaks(counted, split, suspects=suspects, seed=seed)
            shown.advance()
            useless, alone = find_uninformative(counted, constant, split, right, leaking, pairs, seed=seed)
            shown.advance()
            gaps, sufficiency = find_insufficient(table, X, split, right, model, seed=seed)
            shown.advance()
            found += leaks + useless + gaps
            measured |= {"leaks": best, "uninformative": alone, "sufficiency": sufficiency}
            if "accuracy" in best and skill(best["accuracy"], best["most_frequent"]) >= 0.1:
                notes.append(
                    f"The best single feature, {quoted(best['best_feature'])}, is right in {percent(best['accuracy'])} "
                    f"of the rows; {best['pairs_compared']:,} pairs were compared."
                )
            notes.append(sufficiency_text(sufficiency))
            if split is not None and grouped:
                notes.append("Equal rows were counted once for leaks and uninformative queries, and held out together.")
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
