"""``infopursuit reproduce`` and ``train``: the experiments behind RESULTS.md, each in one command."""

from __future__ import annotations

import argparse
from pathlib import Path

from infopursuit.evaluation.experiment import Experiment
from infopursuit.evaluation.pages import update_page
from infopursuit.evaluation.recipes.image_sets import IMAGE_SETS, train_images
from infopursuit.evaluation.recipes.registry import RECIPES
from infopursuit.evaluation.table import markdown, markdown_differences
from infopursuit.terminal import Terminal

FOLDER = Path("benchmarks/results")
ALL = "all"

TRAIN_SUMMARY = "train the generative model of an experiment; stopped and called again, it goes on"
TRAIN_EXAMPLES = ("infopursuit train fashion --out fashion-vae.safetensors",)
REPRODUCE_SUMMARY = "run one of the paper's experiments, from the data to a table of results"
REPRODUCE_EXAMPLES = (
    "infopursuit reproduce mnist",
    "INFOPURSUIT_DATA=data infopursuit reproduce fashion --inputs 500",
    "infopursuit reproduce all --page RESULTS.md",
)


def add_reproduce_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``reproduce``."""
    parser.add_argument("experiment", choices=[*RECIPES, ALL], metavar="EXPERIMENT", help=f"one of the list, or {ALL}")
    add_out(parser)
    parser.add_argument("--inputs", type=positive, default=None, metavar="N", help="only the first N test inputs")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of everything that is drawn (default: 0)")
    parser.add_argument("--page", type=Path, default=None, metavar="FILE", help="a page whose tables are written anew")
    parser.epilog = "\n".join(
        [
            "experiments:",
            *(f"  {name:<15} {recipe.summary}" for name, recipe in RECIPES.items()),
            "",
            parser.epilog or "",
        ]
    )


def run_reproduce(args: argparse.Namespace) -> int:
    """Run one experiment, or all; what an earlier run has finished is kept."""
    terminal = Terminal()
    # what is tried on a few inputs, or with another seed, must not take the place of the whole
    folder = args.out if args.inputs is None else args.out / f"first-{args.inputs}"
    folder = folder if args.seed == 0 else folder / f"seed-{args.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in RECIPES if args.experiment == ALL else [args.experiment]:
        terminal.head(f"{name}: {RECIPES[name].summary}")
        result = RECIPES[name].run(Experiment(name, folder, args.inputs, args.seed, terminal.say, True))
        if result.get("rows"):
            terminal.say("", *markdown(result["rows"]).splitlines())
        if result.get("differences"):
            terminal.say("", *markdown_differences(result["differences"]).splitlines())
    if args.page is not None:
        written = update_page(args.page, args.out)
        terminal.say(f"{args.page}: {', '.join(written) or 'nothing to write'}")
    return 0


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``train``."""
    parser.add_argument("experiment", choices=list(IMAGE_SETS), help="whose model to train")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the weights go")


def run_train(args: argparse.Namespace) -> int:
    """Train, or go on with a training that was stopped."""
    train_images(args.experiment, args.out, say=Terminal().say, progress=True)
    return 0


def add_out(parser: argparse.ArgumentParser) -> None:
    """Where results go."""
    parser.add_argument(
        "--out", type=Path, default=FOLDER, metavar="DIR", help=f"where the JSON goes (default: {FOLDER})"
    )


def positive(text: str) -> int:
    """A count that is given as an option."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return number
