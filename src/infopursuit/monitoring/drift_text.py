"""A drift report as a page of text for a terminal of 80 columns."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence

from infopursuit.monitoring.report import ANSWERS, CLASS, FIRST, LENGTH, MISSING, STOP, Change, DriftReport, in_words
from infopursuit.terminal import Terminal, table

MOST_LINES = 10
HEADS = {
    ANSWERS: "Answered otherwise",
    MISSING: "Not known more or less often",
    CLASS: "Predicted more or less often",
    FIRST: "The first answer",
    STOP: "Why it stops",
    LENGTH: "How much it asks",
}
WIDE = 34
"""Columns for what is compared."""


def to_text(report: DriftReport, *, width: int = 80) -> str:
    """The whole page, without colours."""
    stream = io.StringIO()
    tell(report, Terminal(stream, width=width, colour=False))
    return stream.getvalue().strip("\n")


def tell(report: DriftReport, terminal: Terminal) -> None:
    """Write the page to a terminal."""
    terminal.tell(report.verdict, "bold")
    if not report.found:
        nearest = sorted(report.changes, key=lambda c: (c.corrected_p, -c.distance))[:3]
        terminal.head("Nearest to a drift")
        terminal.say(*_lines(nearest, report))
    for kind, head in HEADS.items():
        found = report.drifted(kind)
        if found:
            terminal.head(head)
            terminal.say(*_lines(found[:MOST_LINES], report))
            if len(found) > MOST_LINES:
                terminal.say(f"and {len(found) - MOST_LINES} more")
    terminal.say("")
    if report.drifted(MISSING):
        terminal.tell("Not known is what is missing, and also an answer that training never had.")
    if report.unexplained is not None:
        terminal.tell(_explained(report))
    terminal.tell(_how(report))


def _lines(changes: Sequence[Change], report: DriftReport) -> list[str]:
    lines = [["", "before", "now", "distance", "corrected p"]]
    for c in changes:
        what = textwrap.shorten(_what(c), WIDE, placeholder=" ...")
        shares = (f"{100 * c.before:.1f} %", f"{100 * c.now:.1f} %")
        lines.append([what, *shares, f"{c.distance:.2f}", in_words(c.corrected_p)])
    return table(lines)


def _what(change: Change) -> str:
    if change.kind == MISSING:
        return f"{change.name}: not known"
    return f"predicted {change.name}" if change.kind == CLASS else change.example


def _explained(report: DriftReport) -> str:
    left = report.unexplained or ()
    n, (one, several) = len(report.drifted(ANSWERS)), report.atoms
    these = f"this {one}" if n == 1 else f"these {n} {several}"
    if not left:
        return (
            f"Had the classes been as frequent in training as they are predicted now, {these} would not differ by "
            f"more than chance: the shift of the classes may be all of it."
        )
    shown = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    return (
        f"Had the classes been as frequent in training as they are predicted now, {len(left)} of {these} would still "
        f"differ ({shown})."
    )


def _how(report: DriftReport) -> str:
    rows = "rows" if report.against == "training" else "inputs"
    pursued = f", {report.n_pursued:,} of them pursued" if 0 < report.n_pursued < report.n_inputs else ""
    n = len(report.changes)
    return (
        f"{report.n_inputs:,} new input{'' if report.n_inputs == 1 else 's'}{pursued}, against {report.n_before:,.0f} "
        f"{rows} of {report.against}; {n:,} comparison{'' if n == 1 else 's'}. Of inputs that have not changed, one "
        f"check in {1 / report.level:,.0f} says drift at the most."
    )
