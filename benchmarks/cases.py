"""``python -m benchmarks.cases``: are "how many more questions" and "why not X" right on held-out rows?

*How many more*: at every step of the pursuits of held-out rows, whether the number of questions that were still asked
lies in the interval that `case.remaining` gave, which should hold 80 %. *Why not X*: for held-out rows and classes that
are not predicted, whether the change of answers that `case.why_not` names leads to the outcome that it names, in a new
session that is answered so.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, positive, run_program, say
from benchmarks.tables import folds, read_table
from infopursuit import case

NAME = "cases"
TABLES = ("heart_c", "credit_g", "car", "hypothyroid", "pendigits")


def covered(clf: Any, rows: Any) -> dict[str, Any]:
    """The share of steps at which the interval holds the number of questions that were asked after it."""
    trace, known = clf.explain(rows), dict[bytes, Any]()
    hits, widths, errors, who, at = [], [], [], [], []
    for i in range(len(trace)):
        history = trace.history(i)
        for k in range(len(history)):
            key = repr(history[:k]).encode()
            if key not in known:
                known[key] = case.remaining(clf.pursuit_.session(history[:k]))
            found, left = known[key], len(history) - k
            hits.append(found.low <= left <= found.high)
            widths.append(found.high - found.low)
            errors.append(abs(found.median - left))
            who.append(i)
            at.append(k)
    coverage, n = float(np.mean(hits)), len(hits)
    # the steps of a row depend on each other: the standard error is that of sums over rows
    sums = np.bincount(who, weights=np.array(hits) - coverage)
    return {
        "rows": len(trace), "steps": n,
        "first": float(np.mean(np.array(hits)[np.array(at) == 0])),
        "coverage": coverage, "standard_error": float(np.sqrt((sums**2).sum())) / n,
        "width": float(np.mean(widths)), "error_of_median": float(np.mean(errors)),
        "questions": float(trace.length.mean()),
    }  # fmt: skip


def changed(clf: Any, rows: Any) -> dict[str, int]:
    """How often `case.why_not` names a change, and how often the change does what it says."""
    pursuit = clf.pursuit_
    asked = named = right = 0
    for i, one in enumerate(trace := clf.explain(rows)):
        session = pursuit.session(trace.history(i))
        for label in pursuit.classes:
            if label == one.prediction:
                continue
            found = case.why_not(session, label)
            asked += 1
            if not found.changes:
                continue
            named += 1
            answers = dict(enumerate(trace.history(i)))
            for change in found.changes:
                answers[change.place] = (change.query, change.other)
            after = pursuit.session(answers.values())
            same = np.abs(after.posterior - found.then).max() <= 1e-9
            right += bool(same and after.prediction == label and session.prediction != label)
    return {"asked": asked, "named": named, "as_said": right}


def run(args: argparse.Namespace) -> int:
    """Fit each table on the first fold, and look at held-out rows."""
    lines, results = list[dict[str, str]](), dict[str, Any]()
    for name in args.tables:
        frame, labels = read_table(name)
        train, held = folds(labels)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf = ip.InformationPursuitClassifier().fit(frame.iloc[train], labels[train])
        rows = frame.iloc[held[: args.rows]]
        found = results[name] = {**covered(clf, rows), **changed(clf, rows)}
        lines.append({
            "table": name, "rows": str(found["rows"]), "steps": str(found["steps"]),
            "questions": f"{found['questions']:.1f}",
            "at first": f"{100 * found['first']:.1f} %",
            "at all steps": f"{100 * found['coverage']:.1f} ± {100 * found['standard_error']:.1f} %",
            "width": f"{found['width']:.1f}", "median is off by": f"{found['error_of_median']:.1f}",
            "changes named": str(found["named"]), "as said": str(found["as_said"]),
        })  # fmt: skip
        say(f"{name}: {lines[-1]}")
    say(plain_table(lines))
    total = {key: sum(each[key] for each in results.values()) for key in ("asked", "named", "as_said")}
    mean = float(np.mean([each["coverage"] for each in results.values()]))
    say(
        f"coverage in the mean {100 * mean:.1f} %; {total['as_said']} of {total['named']} changes lead to what they say"
    )
    result = {"tables": results, "why_not": total}
    say(f"written to {write_result(args.out, NAME, 'python -m benchmarks.cases', result)}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cases", description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE", help="of ../shared/data/tables")
    parser.add_argument("--rows", type=positive, default=300, metavar="N", help="held-out rows of each table (300)")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
