"""The words and bars of a conversation: beliefs, reasons, patches, help; lines for a terminal of any width."""

from __future__ import annotations

import textwrap

import numpy as np

from infopursuit.conversation import is_numbered
from infopursuit.explanation import amount, percent
from infopursuit.foresight import Outcome, Why, entropy
from infopursuit.progress import bar
from infopursuit.queries.groups import Groups, Thing
from infopursuit.queries.patches import Patches
from infopursuit.session import Session
from infopursuit.terminal import Terminal
from infopursuit.types import UNKNOWN

SHOWN = 5
"""Classes that get a bar."""
LEADS = 0.1
"""A posterior from which on a class is named as one that leads."""


def posterior_lines(session: Session, terminal: Terminal, *, shown: int = SHOWN) -> list[str]:
    """What is believed now, as bars; those that have no bar are counted. While none leads, how many are left."""
    p = session.posterior
    order = np.argsort(-p, kind="stable")
    if p.max() < LEADS:
        some = ", ".join(str(session.pursuit.classes[c]) for c in order[:3])
        return _wrap(f"about {np.exp(entropy(p)):.0f} are left, such as {some}", terminal, "  ", "  ")
    best = [int(c) for c in order[:shown] if p[c] >= 0.005]
    labels = [str(session.pursuit.classes[c]) for c in best]
    wide = min(max((len(label) for label in labels), default=0), max(8, terminal.width // 3))
    room = max(6, min(40, terminal.width - wide - 12))
    lines = []
    for place, (c, label) in enumerate(zip(best, labels, strict=True)):
        drawn = bar(p[c], room)
        drawn = terminal.paint(drawn, "now") if place == 0 else drawn
        lines.append(f"  {_cut(label, wide):<{wide}} {drawn} {percent(p[c]):>6}")
    others = len(p) - len(best)
    if others:
        rest = f"{others} other{'' if others == 1 else 's'}: {_share(1 - float(p[best].sum()))} together"
        lines.append("  " + terminal.paint(rest, "faint"))
    return lines


def why_lines(reason: Why, terminal: Terminal) -> list[str]:
    """Why a question is asked, in words with numbers."""
    by_answer = {outcome.said: outcome for outcome in reason.outcomes}
    if reason.halves and not reason.costs:
        begin = "Because it about halves what is left"
    else:
        begin = "Because no other question is expected to tell more" + (" for what it costs" if reason.costs else "")
    if reason.n_answers == 2:
        shares = ", ".join(f"{percent(o.probability)} would say {said}" for said, o in by_answer.items())
        begin += f": {shares}"
    about = "" if reason.exact else "about "
    told = f"It is expected to tell {about}{reason.gain:.2f} of the {reason.left:.2f} bits that are not known yet."
    lines = _wrap(f"{begin}. {told}", terminal)
    few = reason.n_answers > len(reason.outcomes)
    if few:
        lines += _wrap(f"The {len(reason.outcomes)} most probable of its {reason.n_answers} answers:", terminal)
    for outcome in reason.outcomes:
        lines += _wrap(f"{outcome.said} ({percent(outcome.probability)}): {_after(outcome)}", terminal, "  ", "    ")
    if reason.runner_up is not None:
        lines += _wrap(f'The next best: "{reason.runner_up.sentence}" ({reason.runner_up_gain:.2f} bits).', terminal)
    return lines


def _after(outcome: Outcome) -> str:
    """What would be believed after an answer."""
    if outcome.leaders and outcome.leaders[0][1] >= LEADS:
        return "then " + ", ".join(f"{label} ({percent(p)})" for label, p in outcome.leaders)
    return f"then about {outcome.candidates:.0f} would be left"


def choices_line(session: Session, terminal: Terminal) -> list[str]:
    """What may be answered to the question, in short."""
    question = session.question
    assert question is not None
    queries = session.pursuit.queries
    things = panel_things(session)
    if things:
        each = "answers, in this order, with commas between them, ? not known"
        text = f"{len(things)} {each}; or d, b, w, s, h" if len(things) > 1 else "one of these; or d, b, w, s, h"
    elif isinstance(queries, Patches):
        high, wide = queries.size
        text = f"{high} rows of {wide} pixels, 1 lit, 0 dark, ? not known; or d, b, w, s, h"
    elif [str(choice).lower() for choice in question.choices] == ["no", "yes"]:
        first = not session.history
        text = "y yes, n no, d don't know; b back, w why, s stop, h help" if first else "y, n, d; b, w, s, h"
    elif is_numbered(question.choices):
        text = ", ".join(f"{i} {choice}" for i, choice in enumerate(question.choices, start=1)) + "; or d, b, w, s, h"
    else:
        few = list(question.choices[:12])
        text = ", ".join(str(c) for c in few) + (", ..." if len(question.choices) > 12 else "") + "; or d, b, w, s, h"
    return [terminal.paint(line, "faint") for line in _wrap(text, terminal)]


def help_lines(session: Session, terminal: Terminal) -> list[str]:
    """All that may be said."""
    queries = session.pursuit.queries
    question = session.question
    assert question is not None
    if panel_things(session):
        answer = ("answers", "one for each line, with commas between them: a name, its number, its first letters, or ?")
    elif isinstance(queries, Patches):
        high, wide = queries.size
        answer = (
            f"{high * wide} pixels",
            "row by row, with spaces or / between rows or without: 1 or # is lit, 0 or . is dark, ? is not known",
        )
    elif is_numbered(question.choices):
        answer = ("an answer", "its name, its number, or as many of its letters as tell it from the others")
    else:
        answer = ("an answer", "such as yes or no, or as many of its letters as tell it from the others")
    rows = [
        answer,
        ("probably yes", "an answer that is not certain: probably, maybe, or how sure you are (yes 70 %)"),
        ("d, don't know", "it counts as asked, and nothing is learnt"),
        ("b, back", "take the last answer back"),
        ("w, why", "why this is asked: what each answer would mean"),
        ("s, stop", "end here, with what is known so far"),
        ("h, help", "this list"),
    ]
    wide_enough = terminal.width >= 60
    lines = []
    for what, meaning in rows:
        if wide_enough:
            lines += _wrap(f"{what:<15}{meaning}", terminal, "  ", " " * 17, keep=True)
        else:
            lines += [f"  {what}", *_wrap(meaning, terminal, "    ", "    ")]
    return lines


def panel_things(session: Session) -> tuple[Thing, ...]:
    """What the question asks for, where that is several things together."""
    queries, question = session.pursuit.queries, session.question
    return queries.things(question.index) if isinstance(queries, Groups) and question is not None else ()


def panel_lines(session: Session, terminal: Terminal) -> list[str]:
    """The things that are asked for together, with what may be answered to each."""
    lines = []
    for thing in panel_things(session):
        numbered = is_numbered(thing.choices) and not thing.bounds
        shown = [f"{i} {choice}" if numbered else choice for i, choice in enumerate(thing.choices, start=1)]
        number = "a number, or " if thing.bounds else ""
        lines += _wrap(f"{thing.name}: {number}{'; '.join(shown)}", terminal, "  ", "    ")
    return lines


def patch_lines(session: Session, terminal: Terminal) -> list[str]:
    """What was seen of the image, and where the patch lies that is asked about: its unknown pixels are question marks.

    Two characters a pixel where there is room, else one.
    """
    queries, question = session.pursuit.queries, session.question
    assert isinstance(queries, Patches)
    assert question is not None
    seen = session.explanation.revealed()
    rows, columns = queries.shape
    each = 2 if 2 * columns + 2 <= terminal.width else 1
    asked = set(queries.query_atoms[question.index].tolist())
    marks = {0: "·", 1: "█", UNKNOWN: "░"}
    lines = []
    for r in range(rows):
        line = ""
        for c in range(columns):
            value = int(seen[r, c])
            mine = r * columns + c in asked
            mark = "?" if mine and value == UNKNOWN else marks[value]
            style = "now" if mine else "fog" if value == UNKNOWN else None
            line += mark * each if style is None else terminal.paint(mark * each, style)
        lines.append("  " + line)
    return lines


def final_lines(session: Session, terminal: Terminal) -> list[str]:
    """The explanation as sentences."""
    explanation = session.explanation
    if not explanation.steps:
        return _wrap("Nothing was answered.", terminal)
    rest = explanation.to_text(width=terminal.width).splitlines()[1:]  # the first says what stands above already
    lines: list[str] = []
    for line in rest:
        indent = len(line) - len(line.lstrip())
        follow = " " * (indent + 4)
        fits = len(line) < terminal.width
        lines += [line] if fits else textwrap.wrap(line, terminal.width - 1, subsequent_indent=follow)
    plural, cost = "" if len(explanation) == 1 else "s", explanation.cost
    paid = "" if cost is None else f" that cost{'' if plural else 's'} {amount(cost)}"
    count = f"{len(explanation)} question{plural}{paid}, in order:"
    return [count, *lines]


def _wrap(text: str, terminal: Terminal, first: str = "", rest: str = "", *, keep: bool = False) -> list[str]:
    return textwrap.wrap(
        text,
        terminal.width - 1,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=not keep,
    )


def _cut(label: str, wide: int) -> str:
    return label if len(label) <= wide else label[: wide - 1] + "…"


def _share(p: float) -> str:
    return "less than 1 %" if p < 0.005 else percent(p)
