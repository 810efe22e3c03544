"""``infopursuit ask``: a session in the terminal, or with a script at the other end of a pipe: what is said about it,
and what is done with what is typed."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.table import Table
from rich.text import Text

from infopursuit.app import shipped
from infopursuit.app.cli.main import INTERRUPTED, add_language, positive, share, write_text
from infopursuit.app.conversation import (
    Command,
    Outcome,
    Word,
    command,
    is_numbered,
    look_ahead,
    no_answer,
    resume_session,
    save_session,
    understand,
    word_of,
)
from infopursuit.presentation import case, report
from infopursuit.pursuit.explanation import amount
from infopursuit.pursuit.noise import AnswerNoise
from infopursuit.pursuit.session import Session
from infopursuit.queries.groups import Component, Groups
from infopursuit.queries.patches import Patches
from infopursuit.strategies.generative.answer_tables import entropy
from infopursuit.support import messages
from infopursuit.support.checks import pursuit_of
from infopursuit.support.messages import Messages
from infopursuit.support.progress import bar
from infopursuit.support.terminal import STYLES, Terminal
from infopursuit.support.threads import single_threaded
from infopursuit.support.types import NOT_APPLICABLE, ImpossibleAnswer, Number, Query, Said

EXAMPLES = (
    "infopursuit ask animals",
    "infopursuit ask my-model --known age=31 --html case.html --name 'case 17'",
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
N_BARS, N_OUTCOMES = 5, 4
LEADS = 0.1
"""A posterior from which on a class is named as a candidate."""
SHORT = (Word.UNKNOWN, Word.BACK, Word.WHY, Word.STOP, Word.HELP)
"""Words that stand below every question."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ask``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a shipped model, such as animals or digits, or the folder of a saved one")
    add("--known", nargs="+", type=_known, default=[], metavar="COLUMN=VALUE", help="known beforehand; not asked")
    add("--save", type=Path, metavar="FILE", help="keep the answers in a new file, written after each of them")
    add("--resume", type=Path, metavar="FILE", help="continue with the answers in a file, and keep further ones there")
    add("--html", type=Path, metavar="FILE", help="write a report of the case, one page that needs nothing else")
    add("--name", default="", metavar="TEXT", help="what the case is called in the report")
    add_language(parser, "as LANG says")
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
    if args.known and args.resume is not None:
        raise ValueError("--known and --resume do not go together: the file has what was known")
    words, model = messages.load(args.lang or messages.of_environment()), shipped.open_model(args.model)
    pursuit = pursuit_of(model)
    if args.accuracy is not None:
        pursuit = replace(pursuit, noise=AnswerNoise(args.accuracy, max_repeats=args.max_repeats))
    file = args.save or args.resume
    session = pursuit.session(known=dict(args.known)) if args.resume is None else resume_session(pursuit, args.resume)
    if file is not None:
        save_session(session, file)  # before anything is asked, so that a place that cannot be written to is known
    answers = sys.stdin if args.stdin is None else args.stdin
    talk = Talk(session, Terminal(sys.stderr if args.json else sys.stdout), answers, file, words)
    with single_threaded():
        try:
            finished = talk.go()
        except KeyboardInterrupt:
            talk.leave(args.model)
            return INTERRUPTED
        if args.html is not None:
            told = {"name": args.name, "model": Path(args.model).name, "version": shipped.version(args.model)}
            about = case.about(session, words, classifier=model, **told)
            page = report.write(session.explanation, language=words.language, about=about)
            talk.terminal.say("", words("ask.written", file=write_text(args.html, page)))
    if args.json:
        print(session.explanation.to_json())
    return 0 if finished else UNFINISHED


def _known(text: str) -> tuple[str, str]:
    """``age=31`` as a column and its value."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: give COLUMN=VALUE, such as age=31")
    return name.strip(), value.strip()


# ---- the conversation -----------------------------------------------------------------------------------------------


class Talk:
    """One conversation: a session, where its words go, where its answers come from, and its language."""

    def __init__(
        self, session: Session, terminal: Terminal, answers: TextIO, file: Path | None = None,
        words: Messages | None = None,
    ) -> None:  # fmt: skip
        self.session, self.terminal, self.answers, self.file = session, terminal, answers, file
        self.words, self.live = words or messages.load(), bool(answers.isatty())
        self.first = {word: self.words.ways(word.value)[0] for word in Word}  # as they are shown
        self.asks_on = False
        self.is_case = session.pursuit.learnt and not isinstance(session.pursuit.queries, Patches)  # else it is a game

    @property
    def queries(self) -> Any:
        """What may be asked."""
        return self.session.pursuit.queries

    def go(self) -> bool:
        """Talk to the end; returns whether a rule or a word ended it, not the end of the input."""
        n, pursuit, words = len(self.session.history), self.session.pursuit, self.words
        how = words("ask.how", help=self.first[Word.HELP])
        if self.is_case:
            self.terminal.head(case.title(pursuit, words))
        else:
            kind = "ask.game_images" if isinstance(self.queries, Patches) else "ask.game"
            how = words("sentences", a=words(kind, n=len(pursuit.classes)), b=how)
        self.terminal.tell(how)
        self._show_known()
        if n:
            self.terminal.tell(words("ask.continue", n=n))
            self._show_belief()
        while True:
            if self.session.question is None:
                self._conclude()
                if not self._goes_on():
                    return True
                continue
            show_question(self.session, self.terminal, words)
            said = self._listen()
            if said is None or said is Word.STOP:
                if said is None:
                    self.terminal.say("")
                    self.terminal.tell(words("ask.ended"))
                self._conclude()
                return said is Word.STOP
            self._show_belief()

    def leave(self, model: str) -> None:
        """Say goodbye after Ctrl-C."""
        self.terminal.say("")
        if self.file is None:
            self.terminal.tell(self.words("ask.interrupted"))
        else:
            self.terminal.tell(self.words("ask.interrupted_file", file=self.file))
            self.terminal.say(f"infopursuit ask {model} --resume {self.file}")

    def _listen(self) -> Word | Command | Said:
        """Take lines until one changes something: returns the answer, a word, or None at the end."""
        question = self.session.question
        assert question is not None
        while True:
            text = self._read()
            if text is None:
                return None
            try:
                said = understand(text, self.queries, question.index, self.words)
                if self._does(said, question):
                    return Word.UNKNOWN if said is None else said
            except ValueError as error:
                self._complain(error)

    def _complain(self, error: ValueError) -> None:
        short = {"unknown": self.first[Word.UNKNOWN], "back": self.first[Word.BACK]}
        impossible = isinstance(error, ImpossibleAnswer)
        self.terminal.tell(self.words("ask.impossible", **short) if impossible else str(error), style="bad")

    def _does(self, said: Word | Command | Said, question: Query | None) -> bool:
        """Do what was said; returns whether the session has changed, or is to end."""
        if isinstance(said, Command):
            return self._add_known(said.about) if said.word is Word.KNOWN else self._show_why_not(said.about)
        if said is Word.HELP:
            show_help(self.session, self.terminal, self.words)
        elif said is Word.WHY:
            show_why(self.session, self.terminal, self.words)
        elif said is Word.MORE:
            return self._asks_on()
        elif said is Word.BACK:
            return self._back()
        elif said is Word.LATER:
            if self.session.later().question == question:
                self.terminal.tell(self.words("ask.nothing_else"))
        elif said is not Word.STOP:
            given = NOT_APPLICABLE if said is Word.NOT_APPLICABLE else None if isinstance(said, Word) else said
            self.session.answer(given)
            scale = None if question is None else self.queries.scale(question.index)
            if isinstance(said, Number) and scale is not None and not scale.low <= said.value <= scale.high:
                value, back = self.words.number(scale.say(said.value)), self.first[Word.BACK]
                text = self.words("ask.outside", value=value, hint=self.words.hint(scale), back=back)
                self.terminal.tell(text, style="bad")
            self._keep()
        return said not in (Word.HELP, Word.WHY)

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
            self.terminal.tell(self.words("ask.nothing_to_take_back"), style="bad")
            return False
        phrase = self.session.explanation.steps[-1].say(self.words)
        self.session.undo()
        self._keep()
        self.terminal.tell(self.words("ask.taken_back", phrase=phrase))
        return True

    def _asks_on(self) -> bool:
        self.session.go_on()
        self.asks_on = True
        self.terminal.tell(self.words("ask.asks_on", stop=self.first[Word.STOP]))
        return True

    def _add_known(self, text: str) -> bool:
        """``known`` shows what is known, ``known age=31`` adds to it."""
        words = self.words
        if not text:
            self._show_known(all_of_it=True)
            return False
        name, equals, value = (part.strip() for part in text.partition("="))
        names = {each.lower(): each for each in (*(topic for topic, _ in self.queries.topics), *self.queries.names)}
        key = names.get(name.lower())
        if key is None:
            raise no_answer(words, words("error.no_column", said=name[:80]), name, list(names.values()))
        asked = self.queries.find(key, "known")
        hint, choices = self.queries.hint(asked[0], words), case.choices(self.queries, asked[0], words)
        if not equals:
            raise ValueError(
                words("error.known", example=f"{self.first[Word.KNOWN]} {key}={'1' if hint else choices[0]}")
            )
        try:
            meant = understand(value, self.queries, asked[0], words) if len(asked) == 1 else value
            if meant is None or isinstance(meant, (Word, Command)):
                raise ValueError
            self.session.tell({asked[0] if len(asked) == 1 else key: meant})
        except ImpossibleAnswer:
            raise
        except ValueError:
            what = words("error.no_value", said=value[:80], name=key)
            raise no_answer(words, what, value, choices, hint) from None
        self._keep()
        self._show_known()
        return True

    def _show_known(self, *, all_of_it: bool = False) -> None:
        """What was known beforehand, and with ``all_of_it`` what was answered."""
        explanation = self.session.explanation
        known = [step.say(self.words) for step in explanation.known]
        asked = [step.say(self.words) for step in explanation.steps] if all_of_it else []
        for phrase in (*known, *asked):
            self.terminal.tell(phrase[:1].upper() + phrase[1:], indent=2, hanging=2)
        if all_of_it and not known and not asked:
            example = f"{self.first[Word.KNOWN]} {self.queries.topics[0][0]}=..."
            self.terminal.tell(self.words("ask.nothing_known", example=example))

    def _show_why_not(self, label: str) -> bool:
        """Why a class is not predicted; without one, the most probable of the others."""
        classes = [str(each) for each in self.session.pursuit.classes]
        if not label and len(classes) > 1:
            label = classes[int(np.argsort(-self.session.posterior, kind="stable")[1])]
        found = next((each for each in classes if each.lower() == label.lower()), None)
        if found is None:
            raise no_answer(self.words, self.words("error.no_class", said=label[:80]), label, classes)
        for line in case.say_why_not(case.why_not(self.session, found), self.session, self.words):
            self.terminal.tell(line)
        return False

    def _goes_on(self) -> bool:
        """After the stop a person may take an answer back, ask on, and ask why not; other lines end it."""
        while True:
            if self.live:
                p = self.session.posterior
                other = self.session.pursuit.classes[int(np.argsort(-p, kind="stable")[min(1, len(p) - 1)])]
                short = {word.value: self.first[word] for word in (Word.BACK, Word.MORE, Word.WHY_NOT)}
                self.terminal.tell(self.words("ask.after", **short, **{"class": other}), style="faint")
            text = self._read() or ""
            said = command(text, self.words) or word_of(text, self.words)
            try:
                if isinstance(said, Command) or said in (Word.BACK, Word.MORE):
                    if self._does(said, None):
                        return True
                elif not text.strip() or said is Word.STOP or not self.live:
                    return False
            except ValueError as error:
                self._complain(error)

    def _show_belief(self) -> None:
        """The outcome so far in a sentence, as bars, and how many more questions to expect."""
        session, words = self.session, self.words
        if session.posterior.max() >= LEADS and session.question is not None:
            self.terminal.tell(case.summary(session.explanation, self.queries, words))
        show_posterior(session, self.terminal, words)
        if self.is_case and session.question is not None and not self.asks_on:
            found = case.remaining(session)
            if found is not None and found.high:
                self.terminal.tell(case.say_remaining(found, words) + words("full_stop"), style="faint")

    def _conclude(self) -> None:
        words, explanation = self.words, self.session.explanation
        self.terminal.head(words("ask.result" if self.session.question is None else "ask.result_so_far"))
        nothing_answered = not explanation.steps and not explanation.known
        if nothing_answered and self.is_case:
            return self.terminal.tell(case.summary(explanation, self.queries, words), style="good")

        self.terminal.say(self.terminal.paint(explanation.say_verdict(words), "good"))
        if nothing_answered:
            return self.terminal.tell(words("ask.nothing_answered"))
        self.terminal.tell(case.summary(explanation, self.queries, words))
        self.terminal.say(
            "", *([words("ask.in_order", asked=explanation.say_length(words))] if len(explanation) else [])
        )
        for line in (
            *(f"      {step.say(words)}" for step in explanation.known),
            *explanation.say_steps(words, width=self.terminal.width),
            *explanation.say_notes(words, codes=False),
        ):
            for part in line.splitlines():
                self.terminal.tell(
                    part.strip(), indent=len(part) - len(part.lstrip()), hanging=4 * part.startswith(" ")
                )
        return None

    def _keep(self) -> None:
        if self.file is not None:
            save_session(self.session, self.file)


# ---- what is shown --------------------------------------------------------------------------------------------------


def show_question(session: Session, terminal: Terminal, words: Messages) -> None:
    """The question, a picture or list where it is about several components, and what may be answered."""
    question, queries, costs = session.question, session.pursuit.queries, session.pursuit.costs
    assert question is not None
    head = [words("ask.question", k=len(session.history) + 1)]
    if costs is not None:
        head.append(words("ask.costs", cost=amount(float(session.pursuit.query_costs[question.index]))))
    terminal.head(words.texts["comma"].join(head))
    sentence, scale = words.question(question), queries.scale(question.index)
    terminal.tell(sentence if scale is None else f"{sentence} ({words.hint(scale)})", style="bold")
    if isinstance(queries, Patches):
        _show_patch(session, terminal)
    for component in _components(session):
        numbered = is_numbered(component.choices) and not component.bounds
        asked = Query(0, component.name, f"{component.name}?", component.choices)
        shown = [words.answer(asked, choice) for choice in component.choices]
        text = "; ".join(f"{i} {choice}" if numbered else choice for i, choice in enumerate(shown, start=1))
        text = words("ask.number_or", choices=text) if component.bounds else text
        terminal.tell(words("reason.other", name=component.name, value=text), indent=2, hanging=2)
    terminal.tell(_choices(session, words), style="faint")


def show_posterior(session: Session, terminal: Terminal, words: Messages) -> None:
    """The most probable classes as bars; while none leads, how many candidates are left (exp of the entropy)."""
    p = session.posterior
    order = np.argsort(-p, kind="stable")
    if p.max() < LEADS:
        some = words.texts["comma"].join(str(session.pursuit.classes[c]) for c in order[:3])
        return terminal.tell(words("ask.candidates", n=f"{np.exp(entropy(p)):.0f}", names=some), indent=2, hanging=2)
    best = [int(c) for c in order[:N_BARS] if p[c] >= 0.005]
    grid = _grid(max_width=max(8, terminal.width // 3))
    wide = max(6, min(40, terminal.width - 12 - min(max(len(str(session.pursuit.classes[c])) for c in best),
                                                    terminal.width // 3)))  # fmt: skip
    for place, c in enumerate(best):
        style = STYLES["now"] if place == 0 else ""
        drawn = Text(f"{bar(p[c], wide)}", style)
        grid.add_row(str(session.pursuit.classes[c]), Text.assemble(drawn, f" {words.percent(p[c]):>6}"))
    terminal.print(grid)
    if len(p) > len(best):
        rest, others = 1 - float(p[best].sum()), words("others", n=len(p) - len(best))
        together = words("less_than", p=words.percent(0.01)) if rest < 0.005 else words.percent(rest)
        terminal.tell(words("ask.together", others=others, p=together), style="faint", indent=2)
    return None


def show_why(session: Session, terminal: Terminal, words: Messages) -> None:
    """Why the question is asked: its information gain, and the posterior after each answer."""
    question, second, gains = session.question, session.runner_up, session.gains
    if question is None:
        return

    def bits(nats: Any) -> str:
        return words.number(f"{max(float(nats), 0.0) / np.log(2):.2f}")

    found = look_ahead(session.pursuit, session.state, question.index)
    halves = len(found) == 2 and min(outcome.probability for outcome in found) >= 0.35
    kind = "why.most_cost" if session.pursuit.costs is not None else "why.halves" if halves else "why.most"
    said = [words.answer(question, outcome.said) for outcome in found[:N_OUTCOMES]]
    shares = [words.percent(outcome.probability) for outcome in found[:N_OUTCOMES]]
    parts = [words("why.has", answer=answer, p=p) for answer, p in zip(said, shares, strict=True)]
    how = "why.bits" if session.pursuit.exact_gains else "why.bits_about"
    how = words(how, gain=bits(gains[question.index]), left=bits(entropy(session.posterior)))
    terminal.tell(words("sentences", a=words(kind, answers=words.texts["comma"].join(parts)), b=how))
    if len(found) > N_OUTCOMES:
        terminal.tell(words("why.some", shown=N_OUTCOMES, n=len(found)))
    for outcome, answer, p in zip(found, said, shares, strict=False):
        text = words("why.then", answer=answer, p=p, then=_after(outcome, words))
        terminal.tell(text, indent=2, hanging=2)
    if second is not None:
        terminal.tell(words("why.second", question=words.question(second), gain=bits(gains[second.index])))


def show_help(session: Session, terminal: Terminal, words: Messages) -> None:
    """All that may be typed."""
    queries, question = session.pursuit.queries, session.question
    assert question is not None
    some = words.answer(question, question.choices[-1])
    answer, text = words("help.an_answer"), words("help.choice", choice=some)
    if _components(session):
        answer, text = words("help.answers"), words("help.of_components")
    elif isinstance(queries, Patches):
        answer, text = words("help.pixels"), words("help.of_pixels", hint=queries.hint(question.index, words))
    elif (scale := queries.scale(question.index)) is not None:
        text = words("help.of_numbers", hint=words.hint(scale), choice=words.answer(question, question.choices[0]))
    elif is_numbered(question.choices):
        text = words("help.numbered")
    probably, maybe = (words.ways(word)[0] for word in ("probably", "maybe"))
    yes = words("answer.yes")
    soft = words("help.soft", probably=probably, maybe=maybe, example=f"{yes} {words.percent(0.7)}")
    grid = _grid()
    grid.add_row(answer, text)
    grid.add_row(f"{probably} {yes}", soft)
    for word in Word:
        more = " X" if word is Word.WHY_NOT else ""
        grid.add_row(_called(word, words) + more, words(f"help.{word.value}"))
    terminal.print(grid)


def _called(word: Word, words: Messages) -> str:
    """A word as it is shown, with its letter: "d don't know"."""
    ways = words.ways(word.value)
    letter = next((way for way in ways if len(way) == 1 and way.isalpha() and way.isascii()), "")
    return f"{letter} {ways[0]}".strip()


def _choices(session: Session, words: Messages) -> str:
    question, queries, components = session.question, session.pursuit.queries, _components(session)
    assert question is not None
    choices, scale = question.choices[:100], queries.scale(question.index)
    shown = [words.answer(question, choice) for choice in choices] if not components else []
    if components:
        text = words("ask.in_this_order", n=len(components)) if len(components) > 1 else words("ask.one_of_these")
    elif isinstance(queries, Patches):
        text = queries.hint(question.index, words)
    elif scale is not None:
        text = words("ask.a_date" if scale.date else "ask.a_number")
    elif is_numbered(question.choices):
        text = words.texts["comma"].join(f"{i} {choice}" for i, choice in enumerate(shown, start=1))
    else:
        text = words.texts["comma"].join(shown[:12]) + (", ..." if len(shown) > 12 else "")
    called = [_called(word, words) for word in SHORT]
    if session.history:
        called = [each.split()[0] for each in called]
    return words("ask.or", choices=text, commands=words.texts["comma"].join(called))


def _show_patch(session: Session, terminal: Terminal) -> None:
    """The pixels revealed so far; question marks are the patch asked about. Two characters a pixel where they fit."""
    from infopursuit.presentation.plots.images import draw_pixels

    queries, question = session.pursuit.queries, session.question
    assert isinstance(queries, Patches)
    assert question is not None
    columns = queries.shape[1]
    asked = {divmod(a // queries.channels, columns) for a in queries.query_variables[question.index].tolist()}
    each = 2 if 2 * columns + 2 <= terminal.width else 1
    lines = draw_pixels(session.explanation.brightness(), asked, terminal.colour, each, "?")
    terminal.say(*(f"  {line}" for line in lines))


def _components(session: Session) -> tuple[Component, ...]:
    queries, question = session.pursuit.queries, session.question
    return queries.components(question.index) if isinstance(queries, Groups) and question is not None else ()


def _after(outcome: Outcome, words: Messages) -> str:
    if outcome.leaders and outcome.leaders[0][1] >= LEADS:
        return words.texts["comma"].join(f"{label} ({words.percent(p)})" for label, p in outcome.leaders)
    return words("why.candidates", n=f"{outcome.candidates:.0f}")


def _grid(max_width: int | None = None) -> Table:
    """Two columns, indented; the second is wrapped, the first is shortened."""
    grid = Table.grid(padding=(0, 1, 0, 2), pad_edge=True)
    grid.add_column(max_width=max_width, overflow="ellipsis", no_wrap=True)
    grid.add_column()
    return grid
