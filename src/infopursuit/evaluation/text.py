"""An evaluation as a page of text for a terminal of 80 columns."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, Any

from infopursuit.evaluation.calibration import Bin, Calibration
from infopursuit.evaluation.table import Z
from infopursuit.messages import load
from infopursuit.progress import bar
from infopursuit.terminal import Terminal, table

if TYPE_CHECKING:
    from infopursuit.evaluation.evaluate import Evaluation

BAR = 20
FEW = 20
"""Inputs below which a share is not worth a remark."""


def to_text(evaluation: Evaluation, *, width: int = 80) -> str:
    """The whole page, without colours."""
    stream = io.StringIO()
    tell(evaluation, Terminal(stream, width=width, colour=False))
    return stream.getvalue().strip("\n")


def tell(evaluation: Evaluation, terminal: Terminal) -> None:
    """Write the page to a terminal."""
    terminal.head("Accuracy and number of questions")
    terminal.say(*comparison(evaluation))
    for note in _notes(evaluation):
        terminal.say(terminal.paint(note, "faint"))
    terminal.head("Number of questions")
    terminal.tell(lengths(evaluation))
    terminal.say("", *stops(evaluation))
    terminal.head("Accuracy at other confidence thresholds")
    terminal.say(*curve(evaluation))
    terminal.head("Calibration")
    terminal.say(*reliability(evaluation.calibration))
    terminal.say("")
    terminal.tell(verdict(evaluation.calibration))


def comparison(evaluation: Evaluation) -> list[str]:
    """Table 1: a line for each row."""
    lines = [["", "accuracy", "95 % interval", "questions"]]
    for row in evaluation.rows:
        asked = f"all {evaluation.n_queries:,}" if row.length is None else f"{row.length:.2f}"
        if row.length_error is not None:
            asked += f" ± {Z * row.length_error:.2f}"
        interval = "" if row.low is None or row.high is None else f"{100 * row.low:.1f} to {100 * row.high:.1f} %"
        lines.append([row.name + ("*" if row.note else ""), f"{100 * row.accuracy:.2f} %", interval, asked])
    return table(lines)


def lengths(evaluation: Evaluation) -> str:
    """How many questions, in a sentence."""
    found = evaluation.lengths
    if found.min == found.max:
        asked = f"{found.max} question{'s' if found.max != 1 else ''}"
        return f"{asked} for every input, out of {evaluation.n_queries:,} that it may ask."
    half = f"{found.q25:g} to {found.q75:g}" if found.q25 < found.q75 else f"{found.q25:g}"
    return (
        f"Of {evaluation.n_queries:,} questions it asks {found.mean:.1f} on average: {half} for the middle half of the "
        f"inputs, more than {found.p90:g} for one in ten or fewer, {found.max} at the most."
    )


def stops(evaluation: Evaluation) -> list[str]:
    """Why it stopped: a line for each reason."""
    lines = [["stop reason", "inputs", "accuracy", "questions"]]
    for stop in evaluation.stops:
        why = load().reason(stop.reason)
        share = f"{100 * stop.n_inputs / evaluation.n_inputs:.1f} %"
        lines.append(
            [textwrap.shorten(why, 44, placeholder=" ..."), share, f"{100 * stop.accuracy:.1f} %", f"{stop.length:.1f}"]
        )
    return table(lines)


def curve(evaluation: Evaluation) -> list[str]:
    """A line for each epsilon, its accuracy also as a bar; the classifier's own is marked."""
    lines = [["confidence", "questions", "accuracy", "", ""]]
    own = [rule["epsilon"] for rule in _rules(evaluation.stopping) if rule["kind"] == "confidence"]
    for point in evaluation.curve:
        right, mark = f"{100 * point.accuracy:.2f} %", "as it is" if point.epsilon in own[:1] else ""
        lines.append(
            [f"{100 * (1 - point.epsilon):.5g} %", f"{point.length:.2f}", right, bar(point.accuracy, BAR), mark]
        )
    return table(lines)


def reliability(found: Calibration) -> list[str]:
    """A line for each bin: mean confidence beside accuracy."""
    lines = [["confidence", "inputs", "mean", "accuracy", "95 % interval", ""]]
    for b in found.bins:
        interval = f"{100 * b.right_low:.1f} to {100 * b.right_high:.1f} %"
        said = f"{100 * b.low:g} to {100 * b.high:g} %"
        lines.append(
            [said, f"{b.n_inputs:,}", f"{100 * b.confidence:.2f} %", f"{100 * b.accuracy:.2f} %", interval, _judged(b)]
        )
    return table(lines, gap=2)


def verdict(found: Calibration) -> str:
    """The same in a sentence, with the scores."""
    gap = 100 * (found.confidence - found.accuracy)
    direction = "overconfident" if gap > 0 else "underconfident"
    error = 100 * found.expected_calibration_error
    return (
        f"Mean confidence {100 * found.confidence:.1f} %, accuracy {100 * found.accuracy:.1f} %: "
        f"{abs(gap):.1f} points {direction}. Expected calibration error {error:.1f} points, Brier "
        f"score {found.brier:.3f} (0 to 2, 0 is best), log loss {found.log_loss:.3f} nats."
    )


def _rules(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [rule for member in spec["members"] for rule in _rules(member)] if "members" in spec else [spec]


def _notes(evaluation: Evaluation) -> list[str]:
    notes = [f"* {row.name}: {row.note}" for row in evaluation.rows if row.note]
    return notes if evaluation.exact_gains else [*notes, "Gains were estimated on a part of the states and queries."]


def _judged(found: Bin) -> str:
    """Whether the interval leaves out what was said, where there are inputs enough to tell."""
    if found.n_inputs < FEW or found.right_low <= found.confidence <= found.right_high:
        return ""
    return "overconfident" if found.confidence > found.right_high else "underconfident"
