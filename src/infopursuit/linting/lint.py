"""`lint`: what is wrong with a set of queries and the rows that they are asked about, in plain sentences."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from infopursuit.linting.answers import Answers, read_answers
from infopursuit.linting.counts import skill
from infopursuit.linting.finding import Finding, in_order, listed
from infopursuit.linting.lint_report import LintReport
from infopursuit.progress import Progress

STAGES = 8
"""Steps that progress is shown for."""


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
    """Look for what is wrong with a set of queries: leaks, useless and redundant ones, gaps, and faults of the rows.

    Parameters
    ----------
    queries: a query set, or a builder such as ``ip.queries.columns()``, which is fitted on X; None guesses from X.
    X, y: inputs that the queries can be asked about, and their labels.
    groups: (B,) the same value for rows that belong together, such as visits of one patient; they stay on one side
        when rows are held out.
    model: a fitted classifier or a `Pursuit`, whose posterior after all answers is compared with a black box; None
        fits one on part of the rows, or a name or learner as `InformationPursuitClassifier` takes it; False compares
        none.
    source: what the data is called in the report.
    seed: rows are drawn and held out by it.
    progress: True shows progress, None on a terminal only.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = np.column_stack([rng.integers(0, 2, (200, 3)), y])
    >>> report = lint(None, X, y, model=False)
    >>> report.serious, report.of_kind("leak")[0].queries
    (True, ('x3',))
    """
    from infopursuit import queries as query_builders
    from infopursuit.linting.black_boxes import answer_matrix, fit_and_predict, split_rows
    from infopursuit.linting.leaks import find_leaks
    from infopursuit.linting.missing_answers import find_missing
    from infopursuit.linting.raw_rows import find_identifiers, row_matrix, same_rows
    from infopursuit.linting.redundant import find_redundant
    from infopursuit.linting.row_faults import find_row_faults
    from infopursuit.linting.sufficient import find_insufficient, sufficiency_text
    from infopursuit.linting.uninformative import find_constant, find_uninformative, tell_constant

    builder = query_builders.guess(X) if queries is None else queries
    if not hasattr(builder, "fit"):
        raise ValueError(f"queries={builder!r}; expected a query set or a builder such as ip.queries.columns()")
    found: list[Finding] = []
    measured: dict[str, Any] = {}
    with Progress("linting", STAGES, show=progress) as shown:
        asked, dropped = _fit(builder, X, y)
        answers = read_answers(asked, X, y, groups, seed=seed)
        shown.advance()
        numbered = find_identifiers(answers, X)
        answers = answers.without([name for finding in numbered for name in finding.numbers["columns"]])
        matrix = row_matrix(answers, X)
        faults, repeats = find_row_faults(answers, matrix, seed=seed)
        found += [*faults, *numbered, *dropped]
        measured["rows"] = {"distinct": repeats.distinct, "in_training": repeats.in_training}
        shown.advance()
        constant = find_constant(answers)
        gaps, suspects = find_missing(answers)
        found += tell_constant(answers, constant) + gaps
        shown.advance()
        found += find_redundant(answers, constant)
        shown.advance()
        looked_at = [_studied(answers)]
        by_class = any(f.kind == "facts by class" and f.severity != "warning" for f in faults) or answers.is_facts
        if by_class:
            looked_at.append(
                "Whether queries are useless, leak or suffice was not looked at: that needs rows that vary within a "
                "label."
            )
        else:
            split = split_rows(answers, together=repeats.unnatural, seed=seed)
            counted = answers.once(same_rows(matrix)) if repeats.unnatural else answers
            right = None
            if split is not None:
                right = fit_and_predict(answer_matrix(answers), answers.y, split, seed=seed) == answers.y[split.test]
            leaks, leaking, measured["leaks"] = find_leaks(counted, split, suspects=suspects, seed=seed)
            shown.advance()
            useless, measured["uninformative"] = find_uninformative(counted, constant, split, right, leaking, seed=seed)
            shown.advance()
            losses, measured["sufficiency"] = find_insufficient(answers, X, split, right, model, seed=seed)
            found += leaks + useless + losses
            looked_at += [_best_alone(measured["leaks"]), sufficiency_text(measured["sufficiency"]) or _not_held_out()]
            if split is not None and split.together:
                looked_at.append(
                    "Equal rows were counted once for leaks and useless queries, and kept on one side when rows were "
                    "held out."
                )
        shown.advance(2)
    return LintReport(
        findings=in_order(found),
        rows=answers.n_rows,
        queries=len(asked),
        classes=len(answers.classes),
        looked_at=tuple(sentence for sentence in looked_at if sentence),
        measured=measured,
        source=source,
    )


def _fit(builder: Any, X: Any, y: Any) -> tuple[Any, list[Finding]]:
    """The query set, and a finding for the columns that it left out because they never vary."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asked = builder.fit(X, y)
    dropped = []
    for warning in caught:
        message = str(warning.message)
        if message.startswith("left out, for having fewer than two different known values"):
            names = message.split(": ", 1)[1].replace("'", '"')
            dropped.append(
                Finding(
                    "constant",
                    "warning",
                    f"About columns that never vary nothing is asked: {names}.",
                    "Remove them, or look whether they were read wrongly.",
                )
            )
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return asked, dropped


def _studied(answers: Answers) -> str:
    n = len(answers.codes)
    if n == answers.n_rows:
        return ""
    compared = f", repeats in {len(answers.y):,}" if len(answers.y) > n else ""
    return f"Answers were counted in {n:,} of {answers.n_rows:,} rows, drawn at random{compared}."


def _best_alone(measured: dict[str, Any]) -> str:
    if "best alone" not in measured or skill(measured["best alone right"], measured["most frequent class"]) < 0.1:
        return ""
    return (
        f'The best single answer is that about "{measured["best alone"]}": right in '
        f"{100 * measured['best alone right']:.1f} % of the rows; {measured['pairs compared']:,} pairs were compared."
    )


def _not_held_out() -> str:
    return "Black boxes were not compared: too few rows could be held out."


def left_out_findings(left_out: dict[str, str]) -> list[Finding]:
    """What `fit` would not ask about, and why: names, row numbers, columns that never vary."""
    found = []
    names = [name for name, why in left_out.items() if "name" in why or "row numbers" in why]
    if names:
        found.append(_not_asked("identifier", names, "name or number the rows"))
    never = [name for name, why in left_out.items() if why in ("the same in every row", "empty")]
    if never:
        found.append(_not_asked("constant", never, "are empty or the same in every row"))
    return found


def _not_asked(kind: Any, names: Sequence[str], why: str) -> Finding:
    return Finding(
        kind,
        "note",
        f"Columns that {why} are not asked about: {listed(names)}.",
        "Nothing is to be done: fit leaves them out too, unless --keep names them.",
        tuple(names),
        {"columns": list(names)},
    )
