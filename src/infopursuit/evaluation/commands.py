"""``infopursuit bench``, ``reproduce`` and ``train``: the measurements behind RESULTS.md, each in one command."""

from __future__ import annotations

import argparse
from pathlib import Path

from infopursuit.evaluation.animal_game import bench_animals
from infopursuit.evaluation.bench import bench
from infopursuit.evaluation.bench_hostile import bench_hostile
from infopursuit.evaluation.bench_serve import bench_serve
from infopursuit.evaluation.experiment import Experiment
from infopursuit.evaluation.pages import update_page
from infopursuit.evaluation.recipes.image_sets import IMAGE_SETS, train_images
from infopursuit.evaluation.recipes.registry import RECIPES
from infopursuit.evaluation.soak import soak
from infopursuit.evaluation.table import markdown, markdown_differences
from infopursuit.terminal import Terminal

FOLDER = Path("benchmarks/results")
ALL = "all"
MISSED = 1
"""Exit code where what was demanded did not come out."""

BENCH_SUMMARY = "measure speed, and how often the short cuts miss the best query"
BENCH_EXAMPLES = (
    "infopursuit bench",
    "infopursuit bench --histories 20 --out results",
    "infopursuit bench animals",
    "infopursuit bench serve --model animals --people 200 --seconds 60",
    "infopursuit bench soak --people 100 --seconds 600",
    "infopursuit bench hostile-requests --requests 10000",
)
SPEED, ANIMALS, SERVE, SOAK, HOSTILE_REQUESTS = "speed", "animals", "serve", "soak", "hostile-requests"
CROWDS = {SERVE: (200, 60), SOAK: (100, 600)}
"""How many people, and for how many seconds, where that is not said."""
TRAIN_SUMMARY = "train the generative model of an experiment; stopped and called again, it goes on"
TRAIN_EXAMPLES = ("infopursuit train fashion --out fashion-vae.safetensors",)
REPRODUCE_SUMMARY = "run one of the paper's experiments, from the data to a table of results"
REPRODUCE_EXAMPLES = (
    "infopursuit reproduce mnist",
    "INFOPURSUIT_DATA=data infopursuit reproduce fashion --inputs 500",
    "infopursuit reproduce all --page RESULTS.md",
)


def add_bench_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bench``."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=[SPEED, ANIMALS, SERVE, SOAK, HOSTILE_REQUESTS],
        default=SPEED,
        metavar="WHAT",
        help=f"{SPEED} (the default), {ANIMALS}: how often the animals that come along are found, {SERVE}: under load, "
        f"{SOAK}: for long, {HOSTILE_REQUESTS}: what no client should send",
    )
    _add_out(parser)
    parser.add_argument(
        "--histories", type=_positive, default=120, metavar="N", help="histories to compare on (default: 120)"
    )
    add = parser.add_argument
    add("--model", default=ANIMALS, metavar="MODEL", help="what to serve, as `serve` takes it (default: animals)")
    add("--people", type=_positive, metavar="N", help="who answer a server at once (default: 200; soak: 100)")
    add("--seconds", type=_positive, metavar="N", help="for how long they do (default: 60; soak: 600)")
    add("--requests", type=_positive, default=10_000, metavar="N", help="that are hostile (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="of the hostile requests (default: 0)")


def run_bench(args: argparse.Namespace) -> int:
    """Measure and tell."""
    say = Terminal().say
    usual = CROWDS.get(args.what, (1, 1))
    people, seconds = args.people or usual[0], args.seconds or usual[1]
    if args.what == ANIMALS:
        bench_animals(folder=args.out, say=say)
    elif args.what == SERVE:
        bench_serve(args.model, people=people, seconds=seconds, folder=args.out, say=say)
    elif args.what == SOAK:
        return 0 if soak(people=people, seconds=seconds, folder=args.out, say=say)["passed"] else MISSED
    elif args.what == HOSTILE_REQUESTS:
        return 0 if bench_hostile(args.requests, seed=args.seed, folder=args.out, say=say)["passed"] else MISSED
    else:
        bench(folder=args.out, say=say, n_histories=args.histories)
    return 0


def add_reproduce_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``reproduce``."""
    parser.add_argument("experiment", choices=[*RECIPES, ALL], metavar="EXPERIMENT", help=f"one of the list, or {ALL}")
    _add_out(parser)
    parser.add_argument("--inputs", type=_positive, default=None, metavar="N", help="only the first N test inputs")
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


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=FOLDER, metavar="DIR", help=f"where the JSON goes (default: {FOLDER})"
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return number
