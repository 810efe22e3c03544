"""``infopursuit ask``: a conversation in the terminal, or with a script at the other end of a pipe."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from infopursuit import shipped
from infopursuit.asking_text import (
    choices_line,
    final_lines,
    help_lines,
    panel_lines,
    panel_things,
    patch_lines,
    posterior_lines,
    why_lines,
)
from infopursuit.conversation import Word, resume_session, save_session, understand
from infopursuit.demo import one_thread
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.evaluation.evaluate_command import share
from infopursuit.explanation import CHECK, amount, percent
from infopursuit.foresight import why
from infopursuit.noise import AnswerNoise
from infopursuit.queries.patches import Patches
from infopursuit.session import Session
from infopursuit.terminal import Terminal
from infopursuit.types import ImpossibleAnswer, Said

SUMMARY = "be asked: answer questions in the terminal, see what it believes and why it asks"
EXAMPLES = (
    "infopursuit ask animals",
    "infopursuit ask animals --save game.json",
    "infopursuit ask animals --resume game.json",
    "infopursuit ask animals --reliability 0.9 --again 3",
    "printf 'yes\\nno\\n' | infopursuit ask animals --json",
    "",
    "exit codes: 0 it stopped by itself or was told to; 2 something is wrong;",
    "  3 the input ended before that; 130 Ctrl-C",
)
UNFINISHED, INTERRUPTED = 3, 130
LONGEST = 4096
"""Characters of one line that are read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    names = ", ".join(shipped.names())
    add("model", metavar="MODEL", help=f"one that comes along ({names}), or a folder with a saved model")
    add("--save", type=Path, metavar="FILE", help="keep the answers in a new file, written after each of them")
    add("--resume", type=Path, metavar="FILE", help="go on with the answers in a file, and keep further ones there")
    add(
        "--reliability",
        type=share,
        metavar="P",
        help="how often your answers are right, such as 0.9; what you say is then weighed, and it asks for longer",
    )
    add(
        "--again",
        type=int,
        default=1,
        metavar="N",
        help="with --reliability: how many times the same may be asked (default: 1)",
    )
    add("--json", action="store_true", help="write the explanation to stdout as JSON; all else goes to stderr")


def run(args: argparse.Namespace) -> int:
    """Ask until it stops, or until nobody answers any more; returns the exit code."""
    if args.save is not None and args.resume is None and args.save.exists():
        raise FileExistsError(f"{args.save} exists already; go on with it by --resume {args.save}, or name a new file")
    model = shipped.open_model(args.model)
    pursuit = model.pursuit_ if isinstance(model, InformationPursuitClassifier) else model
    if args.again != 1 and args.reliability is None:
        raise ValueError(f"--again {args.again} needs --reliability: answers that are always right need no repeating")
    if args.reliability is not None:
        pursuit = pursuit.with_noise(AnswerNoise(args.reliability, max_repeats=args.again))
    file = args.save or args.resume
    session = pursuit.session() if args.resume is None else resume_session(pursuit, args.resume)
    if file is not None:
        save_session(session, file)  # before anything is asked, so that a place that cannot be written to is known
    talk = Talk(session, Terminal(sys.stderr if args.json else sys.stdout), sys.stdin, file)
    with one_thread():
        try:
            finished = talk.go()
        except KeyboardInterrupt:
            talk.leave(args.model)
            return INTERRUPTED
    if args.json:
        print(session.explanation.to_json())
    return 0 if finished else UNFINISHED


class Talk:
    """One conversation: a session, where its words go, and where its answers come from."""

    def __init__(self, session: Session, terminal: Terminal, answers: TextIO, file: Path | None = None) -> None:
        self.session, self.terminal, self.answers, self.file = session, terminal, answers, file
        self.live = bool(answers.isatty())

    @property
    def pursuit(self) -> Pursuit:
        """What is asked by."""
        return self.session.pursuit

    def go(self) -> bool:
        """Talk to the end; returns whether it was ended by a rule or by a word, not by the end of the input."""
        self._introduce()
        while True:
            if self.session.question is None:
                self._conclude()
                if not self._goes_back():
                    return True
                continue
            self._ask()
            said = self._listen()
            if said is None:
                self.terminal.say("")
                self.terminal.tell("The input has ended, so this is what is known so far.")
                self._conclude()
                return False
            if said is Word.STOP:
                self._conclude()
                return True
            self._believe()

    def leave(self, model: str) -> None:
        """Say goodbye after Ctrl-C."""
        self.terminal.say("")
        if self.file is None:
            self.terminal.tell("Stopped. The answers are not kept; --save FILE would keep them.")
        else:
            self.terminal.tell(f"Stopped. {self.file} has the answers;")
            self.terminal.say(f"infopursuit ask {model} --resume {self.file}", "goes on with them.")

    # ---- one turn ---------------------------------------------------------------------------------------------------

    def _introduce(self) -> None:
        n, asked = len(self.pursuit.classes), len(self.session.history)
        kind = "kinds of images" if isinstance(self.pursuit.queries, Patches) else "candidates"
        self.terminal.tell(
            f"Think of one of {n} {kind}. It asks what tells most, one question at a time, and stops when it is sure. "
            f"Say help for what you may say."
        )
        if asked:
            self.terminal.tell(f"Going on after {asked} answer{'' if asked == 1 else 's'}.")
            self._believe()

    def _ask(self) -> None:
        question = self.session.question
        assert question is not None
        costs = self.pursuit.query_costs
        paid = "" if costs is None else f", costs {amount(float(costs[question.index]))}"
        check = ", a check" if self.session.checking else ""
        self.terminal.head(f"Question {len(self.session.history) + 1}{check}{paid}")
        self.terminal.tell(question.sentence, style="bold")
        if isinstance(self.pursuit.queries, Patches):
            self.terminal.say(*patch_lines(self.session, self.terminal))
        if panel_things(self.session):
            self.terminal.say(*panel_lines(self.session, self.terminal))
        self.terminal.say(*choices_line(self.session, self.terminal))

    def _listen(self) -> Word | Said:
        """Take lines until one changes something: returns the answer, a word, or None at the end."""
        while True:
            text = self._read()
            if text is None:
                return None
            try:
                said = understand(text, self.pursuit.queries, self._index())
                if said is Word.HELP:
                    self.terminal.say(*help_lines(self.session, self.terminal))
                elif said is Word.WHY:
                    self._why()
                elif said is Word.STOP:
                    return said
                elif said is Word.BACK:
                    if self._back():
                        return said
                else:
                    answer = None if said is Word.UNKNOWN else said
                    self.session.answer(answer)
                    self._keep()
                    return Word.UNKNOWN if answer is None else answer
            except ImpossibleAnswer:
                self.terminal.tell(
                    "That cannot be, together with the answers before it. Answer otherwise, say d for don't know, or b "
                    "to take the answer before it back.",
                    style="bad",
                )
            except ValueError as error:
                self.terminal.tell(f"{error}.", style="bad")

    def _why(self) -> None:
        if self.session.checking:
            return self.terminal.tell(CHECK)
        found = why(self.session)
        assert found is not None
        return self.terminal.say(*why_lines(found, self.terminal))

    def _read(self) -> str | None:
        """One line, or None where there are no more. A person gets a prompt; a pipe's lines are shown as they come."""
        out = self.terminal
        if self.live:
            out.stream.write(out.paint("> ", "now"))
            out.stream.flush()
        text = self.answers.readline(LONGEST)
        if not text:
            return None
        if not self.live:
            out.say(f"> {text.strip()}")
        return text

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
        if not self.live:
            return False
        self.terminal.tell("Enter ends; b takes the last answer back.", style="faint")
        while True:
            text = self._read()
            said = (text or "").strip().lower()
            if said in ("b", "back", "undo"):
                return self._back()
            if not said or said in ("s", "stop", "q", "quit", "exit"):
                return False
            self.terminal.tell("It has stopped asking; Enter ends, b takes the last answer back.", style="bad")

    def _believe(self) -> None:
        self.terminal.say(*posterior_lines(self.session, self.terminal))

    def _conclude(self) -> None:
        self.terminal.head("In the end" if self.session.question is None else "So far")
        best = int(np.argmax(self.session.posterior))
        label: Any = self.pursuit.classes[best]
        sure = percent(float(self.session.posterior[best]))
        self.terminal.say(self.terminal.paint(f"{label}", "good") + f", with a probability of {sure}", "")
        self.terminal.say(*final_lines(self.session, self.terminal))

    def _index(self) -> int:
        question = self.session.question
        assert question is not None
        return question.index

    def _keep(self) -> None:
        if self.file is not None:
            save_session(self.session, self.file)
