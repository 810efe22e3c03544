"""``infopursuit ask``: a session in the terminal, or with a script at the other end of a pipe."""

from __future__ import annotations

import argparse
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np
from rich.table import Table
from rich.text import Text

from infopursuit import shipped
from infopursuit.acquisition.tables import entropy
from infopursuit.checks import pursuit_of
from infopursuit.cli.main import INTERRUPTED, positive, share
from infopursuit.conversation import Outcome, Why, Word, is_numbered, resume_session, save_session, understand, why
from infopursuit.explanation import NOVELTY_QUERY, amount, percent
from infopursuit.noise import AnswerNoise
from infopursuit.progress import bar
from infopursuit.queries.groups import Component, Groups
from infopursuit.queries.patches import Patches, shade
from infopursuit.session import Session
from infopursuit.terminal import STYLES, Terminal
from infopursuit.threads import single_threaded
from infopursuit.types import NOT_APPLICABLE, ImpossibleAnswer, Number, Said

EXAMPLES = (
    "infopursuit ask animals",
    "infopursuit ask animals --save game.json",
    "infopursuit ask animals --resume game.json",
    "infopursuit ask animals --accuracy 0.9 --max-repeats 3",
    "printf 'yes\\nno\\n' | infopursuit ask animals --json",
    "",
    "exit codes: 0 a stopping rule fired, or you said stop; 2 something is wrong;",
    "  3 the input ended before that; 130 Ctrl-C",
)
UNFINISHED = 3
MAX_LINE = 4096
"""Characters of one line that are read."""
N_BARS = 5
LEADS = 0.1
"""A posterior from which on a class is named as a candidate."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ask``."""
    add = parser.add_argument
    names = ", ".join(shipped.names())
    add("model", metavar="MODEL", help=f"a shipped model ({names}), or the folder of a saved one")
    add("--save", type=Path, metavar="FILE", help="keep the answers in a new file, written after each of them")
    add("--resume", type=Path, metavar="FILE", help="continue with the answers in a file, and keep further ones there")
    add("--known", nargs="+", default=[], metavar="COLUMN=VALUE", help="what is known beforehand; it is not asked")
    add("--accuracy", type=share, metavar="P", help="probability that an answer of yours is correct, such as 0.9")
    add("--max-repeats", type=positive, default=1, metavar="N", help="with --accuracy: how often the same query may be "
        "asked (1)")  # fmt: skip
    add("--json", action="store_true", help="write the explanation to stdout as JSON; all else goes to stderr")


def run(args: argparse.Namespace) -> int:
    """Ask until a rule stops it, or until nobody answers any more; returns the exit code."""
    if args.save is not None and args.resume is None and args.save.exists():
        raise FileExistsError(f"--save {args.save} exists already; continue it with --resume, or name a new file")
    if args.max_repeats != 1 and args.accuracy is None:
        raise ValueError(f"--max-repeats {args.max_repeats} needs --accuracy: correct answers need no repeating")
    pursuit = pursuit_of(shipped.open_model(args.model))
    if args.accuracy is not None:
        pursuit = replace(pursuit, noise=AnswerNoise(args.accuracy, max_repeats=args.max_repeats))
    file = args.save or args.resume
    if args.known and args.resume is not None:
        raise ValueError("--known and --resume do not go together: the file has what was known")
    session = (
        pursuit.session(known=dict(map(_known, args.known)))
        if args.resume is None
        else resume_session(pursuit, args.resume)
    )
    if file is not None:
        save_session(session, file)  # before anything is asked, so that a place that cannot be written to is known
    talk = Talk(session, Terminal(sys.stderr if args.json else sys.stdout), sys.stdin, file)
    with single_threaded():
        try:
            finished = talk.go()
        except KeyboardInterrupt:
            talk.leave(args.model)
            return INTERRUPTED
    if args.json:
        print(session.explanation.to_json())
    return 0 if finished else UNFINISHED


def _known(text: str) -> tuple[str, str]:
    """``age=31`` as a column and its value."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--known {text}: give COLUMN=VALUE, such as age=31")
    return name.strip(), value.strip()


class Talk:
    """One conversation: a session, where its words go, and where its answers come from."""

    def __init__(self, session: Session, terminal: Terminal, answers: TextIO, file: Path | None = None) -> None:
        self.session, self.terminal, self.answers, self.file = session, terminal, answers, file
        self.pursuit, self.live = session.pursuit, bool(answers.isatty())

    def go(self) -> bool:
        """Talk to the end; returns whether a rule or a word ended it, not the end of the input."""
        n = len(self.session.history)
        kind = "kinds of images" if isinstance(self.pursuit.queries, Patches) else "classes"
        self.terminal.tell(
            f"Think of one of {len(self.pursuit.classes)} {kind}. Each question is the one with the highest expected "
            f"information gain; it stops when it is confident enough. Type help for what you may answer."
        )
        for query, answer in self.session.known:
            self.terminal.tell(f"Known: {self.pursuit.queries.say(query, answer)}.")
        if n:
            self.terminal.tell(f"Continuing after {n} answer{'' if n == 1 else 's'}.")
            show_posterior(self.session, self.terminal)
        while True:
            if self.session.question is None:
                self._conclude()
                if not self._goes_back():
                    return True
                continue
            show_question(self.session, self.terminal)
            said = self._listen()
            if said is None or said is Word.STOP:
                if said is None:
                    self.terminal.say("")
                    self.terminal.tell("The input has ended; the prediction so far:")
                self._conclude()
                return said is Word.STOP
            show_posterior(self.session, self.terminal)

    def leave(self, model: str) -> None:
        """Say goodbye after Ctrl-C."""
        self.terminal.say("")
        if self.file is None:
            self.terminal.tell("Stopped. The answers are not kept; --save FILE would keep them.")
        else:
            self.terminal.tell(f"Stopped. {self.file} has the answers; to continue:")
            self.terminal.say(f"infopursuit ask {model} --resume {self.file}")

    def _listen(self) -> Word | Said:
        """Take lines until one changes something: returns the answer, a word, or None at the end."""
        question = self.session.question
        assert question is not None
        while True:
            text = self._read()
            if text is None:
                return None
            try:
                said = understand(text, self.pursuit.queries, question.index)
                if said is Word.HELP:
                    show_help(self.session, self.terminal)
                elif said is Word.WHY:
                    found = why(self.session)
                    if self.session.asks_novelty or found is None:
                        self.terminal.tell(NOVELTY_QUERY)
                    else:
                        show_why(found, self.terminal)
                elif said is Word.STOP or (said is Word.BACK and self._back()):
                    return said
                elif said is Word.LATER:
                    before = self.session.question
                    if self.session.later().question == before:
                        self.terminal.tell("There is nothing else to ask.")
                    return said
                elif said is not Word.BACK:
                    given = NOT_APPLICABLE if said is Word.NOT_APPLICABLE else None
                    self.session.answer(given if isinstance(said, Word) else said)
                    scale = self.pursuit.queries.scale(question.index)
                    if isinstance(said, Number) and scale is not None and not scale.low <= said.value <= scale.high:
                        text = f"{scale.say(said.value)} is outside the range in training"
                        self.terminal.tell(f"{text} ({scale.hint}); b takes it back.", style="bad")
                    self._keep()
                    return Word.UNKNOWN if said is None else said
            except ImpossibleAnswer:
                text = (
                    "Impossible together with the earlier answers: answer otherwise, or say d (don't know) or b (back)"
                )
                self.terminal.tell(f"{text}.", style="bad")
            except ValueError as error:
                self.terminal.tell(f"{error}.", style="bad")

    def _read(self) -> str | None:
        """One line, or None where there are no more. A person gets a prompt; a pipe's lines are shown as they come."""
        if self.live:
            self.terminal.out(self.terminal.paint("> ", "now"), end="")
        text = self.answers.readline(MAX_LINE)
        if text and not self.live:
            self.terminal.say(f"> {text.strip()}")
        return text or None

    def _back(self) -> bool:
        if not self.session.history:
            self.terminal.tell("Nothing was answered yet, so there is nothing to take back.", style="bad")
            return False
        query, answer = self.session.history[-1]
        self.session.undo()
        self._keep()
        self.terminal.tell(f"Taken back: {self.pursuit.queries.say(query, answer)}.")
        return True

    def _goes_back(self) -> bool:
        """After the stop a person may still take an answer back."""
        while self.live:
            self.terminal.tell("Enter ends; b takes the last answer back.", style="faint")
            said = (self._read() or "").strip().lower()
            if said in ("b", "back", "undo"):
                return self._back()
            if said in ("", "s", "stop", "q", "quit", "exit"):
                break
        return False

    def _conclude(self) -> None:
        self.terminal.head("Result" if self.session.question is None else "Result so far")
        best = int(np.argmax(self.session.posterior))
        label = self.terminal.paint(str(self.pursuit.classes[best]), "good")
        explanation = self.session.explanation
        mark = "" if explanation.calibrated else ", not calibrated"
        self.terminal.say(f"Predicted class: {label} ({percent(explanation.confidence)}{mark})", "")
        if not explanation.steps:
            return self.terminal.tell("Nothing was answered.")
        plural, cost = "" if len(explanation) == 1 else "s", explanation.cost
        paid = "" if cost is None else f" that cost{'' if plural else 's'} {amount(cost)}"
        self.terminal.say(f"{len(explanation)} question{plural}{paid}, in order:")
        # the first line of the text repeats the prediction
        for line in explanation.to_text(width=self.terminal.width).splitlines()[1:]:
            indent = " " * (len(line) - len(line.lstrip()) + 4)
            self.terminal.say(*textwrap.wrap(line, self.terminal.width - 1, subsequent_indent=indent) or [""])
        return None

    def _keep(self) -> None:
        if self.file is not None:
            save_session(self.session, self.file)


# ---- what is shown --------------------------------------------------------------------------------------------------


def show_question(session: Session, terminal: Terminal) -> None:
    """The question, a picture or list where it is about several components, and what may be answered."""
    question, queries, costs = session.question, session.pursuit.queries, session.pursuit.costs
    assert question is not None
    paid = "" if costs is None else f", costs {amount(float(session.pursuit.query_costs[question.index]))}"
    check = ", a novelty query" if session.asks_novelty else ""
    terminal.head(f"Question {len(session.history) + 1}{check}{paid}")
    scale = queries.scale(question.index)
    terminal.tell(question.sentence if scale is None else f"{question.sentence} ({scale.hint})", style="bold")
    if isinstance(queries, Patches):
        _show_patch(session, terminal)
    for component in _components(session):
        numbered = is_numbered(component.choices) and not component.bounds
        shown = [f"{i} {choice}" if numbered else choice for i, choice in enumerate(component.choices, start=1)]
        _indented(terminal, f"{component.name}: {'a number, or ' if component.bounds else ''}{'; '.join(shown)}")
    terminal.tell(_choices(session), style="faint")


def show_posterior(session: Session, terminal: Terminal) -> None:
    """The most probable classes as bars; while none leads, how many candidates are left (exp of the entropy)."""
    p = session.posterior
    order = np.argsort(-p, kind="stable")
    if p.max() < LEADS:
        some = ", ".join(str(session.pursuit.classes[c]) for c in order[:3])
        return _indented(terminal, f"about {np.exp(entropy(p)):.0f} candidates left, such as {some}")
    best = [int(c) for c in order[:N_BARS] if p[c] >= 0.005]
    grid = _grid(max_width=max(8, terminal.width // 3))
    wide = max(6, min(40, terminal.width - 12 - min(max(len(str(session.pursuit.classes[c])) for c in best),
                                                    terminal.width // 3)))  # fmt: skip
    for place, c in enumerate(best):
        style = STYLES["now"] if place == 0 else ""
        drawn = Text(f"{bar(p[c], wide)}", style)
        grid.add_row(str(session.pursuit.classes[c]), Text.assemble(drawn, f" {percent(p[c]):>6}"))
    terminal.print(grid)
    if len(p) > len(best):
        rest = 1 - float(p[best].sum())
        others = f"{len(p) - len(best)} other{'' if len(p) - len(best) == 1 else 's'}"
        together = "less than 1 %" if rest < 0.005 else percent(rest)
        terminal.say("  " + terminal.paint(f"{others}: {together} together", "faint"))
    return None


def show_why(reason: Why, terminal: Terminal) -> None:
    """Why a question is asked: its information gain, and the posterior after each answer."""
    begin = "It has the highest expected information gain" + (" per cost" if reason.costs else "")
    if reason.halves and not reason.costs:
        begin = "It about halves the probability"
    if reason.n_answers == 2:
        begin += ": " + ", ".join(f"{o.said} has {percent(o.probability)}" for o in reason.outcomes)
    about = "" if reason.exact else "about "
    terminal.tell(f"{begin}. Expected information gain: {about}{reason.gain:.2f} of {reason.left:.2f} bits.")
    if reason.n_answers > len(reason.outcomes):
        terminal.tell(f"The {len(reason.outcomes)} most probable of its {reason.n_answers} answers:")
    for outcome in reason.outcomes:
        _indented(terminal, f"{outcome.said} ({percent(outcome.probability)}): {_after(outcome)}")
    if reason.runner_up is not None:
        terminal.tell(f'Second best: "{reason.runner_up.sentence}" ({reason.runner_up_gain:.2f} bits).')


def show_help(session: Session, terminal: Terminal) -> None:
    """All that may be typed."""
    queries, question = session.pursuit.queries, session.question
    assert question is not None
    if _components(session):
        answer = ("answers", "one for each line, with commas between them: a name, its number, its first letters, or ?")
    elif isinstance(queries, Patches):
        answer = ("pixels", f"row by row, with / or spaces between rows: {queries.hint}")
    elif (scale := queries.scale(question.index)) is not None:
        answer = ("an answer", f"{scale.hint}; or where it lies: {question.choices[0]}")
    elif is_numbered(question.choices):
        answer = ("an answer", "its name, its number, or as many of its letters as tell it from the others")
    else:
        answer = ("an answer", "such as yes or no, or as many of its letters as tell it from the others")
    grid = _grid()
    for row in (
        answer,
        ("probably yes", "a soft answer: probably, maybe, or its probability (yes 70 %)"),
        ("d, don't know", "it counts as asked, and nothing is learnt"),
        ("n/a, not applicable", "the same, and the explanation says so"),
        ("l, later", "asked again when nothing else is left to ask"),
        ("b, back", "take the last answer back"),
        ("w, why", "why this is asked: what each answer would mean"),
        ("s, stop", "end here, with the prediction so far"),
        ("h, help", "this list"),
    ):
        grid.add_row(*row)
    terminal.print(grid)


def _choices(session: Session) -> str:
    question, queries, components = session.question, session.pursuit.queries, _components(session)
    assert question is not None
    choices = [str(choice) for choice in question.choices[:100]]
    if components:
        text = f"{len(components)} answers, in this order, with commas between them, ? not known"
        text = text if len(components) > 1 else "one of these"
    elif isinstance(queries, Patches):
        text = queries.hint
    elif [choice.lower() for choice in choices] == ["no", "yes"]:
        if not session.history:
            return "y yes, n no, d don't know; b back, w why, s stop, h help"
        return "y, n, d; b, w, s, h"
    elif (scale := queries.scale(question.index)) is not None:
        text = "a date" if scale.date else "a number"
    elif is_numbered(question.choices):
        text = ", ".join(f"{i} {choice}" for i, choice in enumerate(choices, start=1))
    else:
        text = ", ".join(choices[:12]) + (", ..." if len(choices) > 12 else "")
    return f"{text}; or d, b, w, s, h"


def _show_patch(session: Session, terminal: Terminal) -> None:
    """The pixels revealed so far; question marks are the patch asked about. Two characters a pixel where they fit."""
    queries, question = session.pursuit.queries, session.question
    assert isinstance(queries, Patches)
    assert question is not None
    rows, columns = queries.shape
    seen = session.explanation.brightness().mean(axis=2)
    each = 2 if 2 * columns + 2 <= terminal.width else 1
    asked = {divmod(a // queries.channels, columns) for a in queries.query_variables[question.index].tolist()}
    picture = Text()
    for r in range(rows):
        picture.append("  ")
        for c in range(columns):
            hidden, mine = bool(np.isnan(seen[r, c])), (r, c) in asked
            mark = shade(seen[r, c]) if not hidden else "?" if mine else "░"
            picture.append(mark * each, STYLES["now"] if mine else STYLES["fog"] if hidden else "")
        picture.append("\n" if r + 1 < rows else "")
    terminal.print(picture, soft_wrap=True)


def _components(session: Session) -> tuple[Component, ...]:
    queries, question = session.pursuit.queries, session.question
    return queries.components(question.index) if isinstance(queries, Groups) and question is not None else ()


def _after(outcome: Outcome) -> str:
    if outcome.leaders and outcome.leaders[0][1] >= LEADS:
        return "then " + ", ".join(f"{label} ({percent(p)})" for label, p in outcome.leaders)
    return f"then about {outcome.candidates:.0f} candidates left"


def _indented(terminal: Terminal, text: str) -> None:
    terminal.say(*textwrap.wrap(text, terminal.width - 1, initial_indent="  ", subsequent_indent="    "))


def _grid(max_width: int | None = None) -> Table:
    """Two columns, indented; the second is wrapped, the first is shortened."""
    grid = Table.grid(padding=(0, 1, 0, 2), pad_edge=True)
    grid.add_column(max_width=max_width, overflow="ellipsis", no_wrap=True)
    grid.add_column()
    return grid
