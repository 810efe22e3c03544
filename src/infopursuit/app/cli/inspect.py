"""``infopursuit inspect``: the first questions of a model as a tree, query frequencies, the model card."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from infopursuit.app import shipped
from infopursuit.app.cli.main import number, positive, share, write_text
from infopursuit.app.datasets.examples import read_examples
from infopursuit.estimator.card import write_model_card
from infopursuit.evaluation.inspection import query_frequencies, strategy_tree
from infopursuit.support.checks import pursuit_of
from infopursuit.support.terminal import Terminal

EXAMPLES = (
    "infopursuit inspect animals --depth 4 --png animals.png",
    "infopursuit inspect my-model --data test.csv --label species",
    "infopursuit inspect my-model --card > CARD.md",
)
MAX_DEPTH = 30
PICTURES = (".png", ".svg", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``inspect``."""
    add = parser.add_argument
    names = ", ".join(shipped.names())
    add("model", metavar="MODEL", help=f"a shipped model ({names}), or the folder of a saved one")
    add("--card", action="store_true", help="print the model card in Markdown, and nothing else")
    add("--depth", type=number(int, 0, MAX_DEPTH), default=3, metavar="N", help="questions to go down (3)")
    add("--min-share", type=share, default=0.01, metavar="P", help="merge rarer branches (0.01)")
    add("--max-branches", type=number(int, 2), default=5, metavar="N", help="below a question (5)")
    add("--data", metavar="DATA", help="inputs to send down the tree: a file, or the name of a data set")
    add("--label", metavar="COLUMN", help="the column of a table that holds the labels, if any")
    add("--inputs", type=positive, metavar="N", help="only the first N inputs")
    add("--png", type=_picture, metavar="FILE", help="draw the tree")
    add("--heatmap", type=_picture, metavar="FILE", help="draw query frequencies by class; needs --data")
    add("--json", type=Path, metavar="FILE", help="write everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, inspect, print, draw, write."""
    terminal = Terminal()
    model = shipped.open_model(args.model)
    if args.card:
        terminal.say(write_model_card(model).rstrip("\n"))
        return 0
    if args.heatmap is not None and args.data is None:
        raise ValueError("--heatmap needs inputs; give them with --data DATA")
    if args.png is not None or args.heatmap is not None:
        from infopursuit.presentation.plots.style import need_matplotlib

        need_matplotlib()  # rather now than after the work
    pursuit = pursuit_of(model)
    X = y = frequencies = None
    if args.data is not None:
        data = read_examples(args.data, pursuit, label=args.label, labelled=False).between(0, args.inputs)
        X, y = data.X, data.y
        if not len(X):
            raise ValueError(f"{data.source} has no rows; give some inputs")
    tree = strategy_tree(pursuit, args.depth, X=X, y=y, min_share=args.min_share, max_branches=args.max_branches)
    terminal.say(tree.to_text(width=terminal.width))
    if args.data is not None:
        frequencies = query_frequencies(pursuit.run(X), y)
        terminal.head("Query frequencies")
        terminal.say(frequencies.to_text(width=terminal.width))
    written = _write(args, tree, frequencies)
    if written:
        terminal.say("", *(f"written to {file}" for file in written))
    return 0


def _write(args: argparse.Namespace, tree: Any, frequencies: Any) -> list[Path]:
    """Write pictures and JSON where they are wanted; returns the files."""
    from infopursuit.presentation import plots

    written = []
    for file, draw, what in (
        (args.png, plots.strategy_tree, tree),
        (args.heatmap, plots.asked_by_class, frequencies),
    ):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            written.append(plots.save(draw(what), file))
    if args.json is not None:
        found = {"strategy": tree, "query_frequencies": frequencies}
        data = {key: None if each is None else json.loads(each.to_json()) for key, each in found.items()}
        text = json.dumps({"model": str(args.model), **data}, ensure_ascii=False, indent=1)
        written.append(write_text(args.json, text))
    return written


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    return path
