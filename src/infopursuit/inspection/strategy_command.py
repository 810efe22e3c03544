"""``infopursuit strategy``: what a model asks first, as a tree; which inputs go where; CART's tree beside it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from infopursuit import shipped, storage
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.evaluation.data_files import Examples, has_training_part, read_examples
from infopursuit.evaluation.evaluate_command import share
from infopursuit.files import write_atomically
from infopursuit.inspection.asked import Asked, asked
from infopursuit.inspection.compare import Comparison, compare_with_cart
from infopursuit.inspection.grow import strategy_tree
from infopursuit.inspection.tree import StrategyTree
from infopursuit.plots import asked_by_class, save
from infopursuit.plots import strategy_tree as draw
from infopursuit.plots.style import need_matplotlib
from infopursuit.terminal import Terminal

SUMMARY = "see what a model asks first, as a tree; CART's tree beside it"
EXAMPLES = (
    "infopursuit strategy animals --depth 4 --png animals.png",
    "infopursuit strategy my-model --data test.csv --label species",
    "infopursuit strategy my-model --data test.csv --train train.csv --compare",
)
DEPTH, LEAST, BRANCHES = 3, 0.01, 5
DEEPEST = 30
PICTURES = (".png", ".svg", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``strategy``."""
    add = parser.add_argument
    names = ", ".join(shipped.names())
    add("model", metavar="MODEL", help=f"one that comes along ({names}), or a folder with a saved model")
    add("--depth", type=_depth, default=DEPTH, metavar="N", help=f"questions to go down ({DEPTH})")
    add("--least", type=share, default=LEAST, metavar="P", help=f"put rarer ways together ({LEAST:g})")
    add("--branches", type=_branches, default=BRANCHES, metavar="N", help=f"below a question at most ({BRANCHES})")
    add("--data", metavar="DATA", help="inputs to send down the tree: a file, or the name of a data set")
    add("--label", metavar="COLUMN", help="the column of a table that holds the labels, if any")
    add("--inputs", type=_positive, metavar="N", help="only the first N inputs")
    add("--compare", action="store_true", help="fit CART on the same queries; needs --data with labels")
    add("--train", metavar="DATA", help="what the model was fitted on; CART learns from it")
    add("--png", type=_picture, metavar="FILE", help="draw the tree; that of CART to FILE-cart")
    add("--heatmap", type=_picture, metavar="FILE", help="draw what is asked about which class; needs --data")
    add("--json", type=Path, metavar="FILE", help="write everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, grow, tell, draw, write."""
    terminal = Terminal()
    for option, needs in (("compare", args.compare), ("heatmap", args.heatmap), ("train", args.train)):
        if needs and args.data is None:
            raise ValueError(f"--{option} needs inputs; give them with --data DATA")
    if args.png is not None or args.heatmap is not None:
        need_matplotlib()  # rather now than after the work
    pursuit = _open(args.model)
    data = None
    if args.data is not None:
        data = read_examples(args.data, pursuit, label=args.label, labelled=args.compare).first(args.inputs)
        if not len(data.X):
            raise ValueError(f"{data.source} has no rows; give some inputs")
    train = _training(args, pursuit) if args.compare else None
    tree, table, comparison = _look(args, pursuit, data, train)
    _tell(terminal, tree, table, comparison)
    written = _write(args, tree, table, comparison)
    if written:
        terminal.say("", *(f"written to {file}" for file in written))
    return 0


def _look(
    args: argparse.Namespace, pursuit: Pursuit, data: Examples | None, train: Examples | None
) -> tuple[StrategyTree, Asked | None, Comparison | None]:
    X, y = (None, None) if data is None else (data.X, data.y)
    limits = {"least": args.least, "most_branches": args.branches}
    table = None if data is None else asked(pursuit.run(X), y)
    if train is None:
        return strategy_tree(pursuit, args.depth, X=X, y=y, **limits), table, None
    comparison = compare_with_cart(pursuit, train.X, train.y, X, y, depth=args.depth, **limits)
    return comparison.pursuit_tree, table, comparison


def _tell(terminal: Terminal, tree: StrategyTree, table: Asked | None, comparison: Comparison | None) -> None:
    if comparison is None:
        terminal.say(tree.to_text(width=terminal.width))
    else:
        terminal.head("The pursuit beside CART")
        terminal.say(comparison.to_text(width=terminal.width))
    if table is not None:
        terminal.head("Which questions are asked, and for which class")
        terminal.say(table.to_text(width=terminal.width))


def _write(
    args: argparse.Namespace, tree: StrategyTree, table: Asked | None, comparison: Comparison | None
) -> list[Path]:
    """Pictures and JSON, where they are asked for; returns the files."""
    pictures: list[tuple[Path, Any]] = []
    if args.png is not None:
        pictures.append((args.png, lambda: draw(tree)))
        if comparison is not None:
            beside = args.png.with_name(f"{args.png.stem}-cart{args.png.suffix}")
            pictures.append((beside, lambda: draw(comparison.cart_tree)))
    if args.heatmap is not None and table is not None:
        pictures.append((args.heatmap, lambda: asked_by_class(table)))
    written = []
    for file, make in pictures:
        file.parent.mkdir(parents=True, exist_ok=True)
        written.append(save(make(), file))
    if args.json is not None:
        data = {
            "model": str(args.model),
            "strategy": json.loads(tree.to_json()),
            "asked": None if table is None else json.loads(table.to_json()),
            "comparison": None if comparison is None else json.loads(comparison.to_json()),
        }
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(args.json, json.dumps(data, ensure_ascii=False, indent=1).encode())
        written.append(args.json)
    return written


def _open(name: str) -> Pursuit:
    """The pursuit of a model that comes along, or of a saved one."""
    if not shipped.is_shipped(name) and (Path(name) / storage.MANIFEST).is_file():
        return storage.load_pursuit(name, f"see it from Python: ip.strategy_tree(ip.load({name!r}, functions=...))")
    model = shipped.open_model(name)
    pursuit: Pursuit = model.pursuit_ if isinstance(model, InformationPursuitClassifier) else model
    return pursuit


def _training(args: argparse.Namespace, pursuit: Pursuit) -> Examples:
    if args.train is not None:
        return read_examples(args.train, pursuit, label=args.label, part="train")
    if has_training_part(args.data):
        return read_examples(args.data, pursuit, part="train")
    raise ValueError(f"--compare needs what CART learns from, and {args.data} has no such part; give --train DATA")


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    return path


def _depth(text: str) -> int:
    if not text.isdecimal() or int(text) > DEEPEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {DEEPEST}")
    return int(text)


def _branches(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 2 on")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)
