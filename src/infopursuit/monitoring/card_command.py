"""``infopursuit card``: what a saved model is, what it learnt from, what it asks and how far to trust it."""

from __future__ import annotations

import argparse
from pathlib import Path

from infopursuit.model_card import write_card
from infopursuit.files import write_atomically
from infopursuit.shipped.catalog import is_shipped, load
from infopursuit.storage import load_for_command
from infopursuit.terminal import Terminal

SUMMARY = "write the model card of a saved model, in Markdown"
EXAMPLES = ("infopursuit card my-model", "infopursuit card my-model --out CARD.md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``card``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="folder of a saved model, or the name of one that comes along")
    add("--out", type=Path, metavar="FILE", help="write the card to a file instead")


def run(args: argparse.Namespace) -> int:
    """Read, write."""
    terminal = Terminal()
    if args.out is not None and args.out.is_dir():
        raise ValueError(f"--out {args.out} is a folder; give a file such as card.md")
    if is_shipped(args.model):
        thing = load(args.model)
    else:
        call = f"ip.load({args.model!r}, functions=...).card()"
        thing = load_for_command(args.model, f"its folder has a CARD.md; or from Python: {call}")
    card = write_card(thing)
    if args.out is None:
        terminal.say(card.rstrip("\n"))
        return 0
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(args.out, card.encode())
    terminal.say(f"written to {args.out}")
    return 0
