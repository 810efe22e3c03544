"""``infopursuit ask``: a session in the terminal, or with a script at the other end of a pipe."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from infopursuit.cli.main import INTERRUPTED, add_language, positive, share, write_text

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
    from infopursuit import case, messages, shipped
    from infopursuit.checks import pursuit_of
    from infopursuit.cli.talk import Talk
    from infopursuit.conversation import resume_session, save_session
    from infopursuit.noise import AnswerNoise
    from infopursuit.terminal import Terminal
    from infopursuit.threads import single_threaded

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
    talk = Talk(session, Terminal(sys.stderr if args.json else sys.stdout), sys.stdin, file, words)
    with single_threaded():
        try:
            finished = talk.go()
        except KeyboardInterrupt:
            talk.leave(args.model)
            return INTERRUPTED
        if args.html is not None:
            told = {"name": args.name, "model": Path(args.model).name, "version": shipped.version(args.model)}
            about = case.about(session, words, classifier=model, **told)
            page = session.explanation.to_html(language=words.language, about=about)
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
