"""``python -m benchmarks.reproduce EXPERIMENT``: the experiments behind RESULTS.md, each in one command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.experiment import Experiment
from benchmarks.pages import markdown, markdown_differences, update_page
from benchmarks.program import add_out, positive, run_program, say
from benchmarks.recipes.registry import RECIPES

ALL = "all"


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    listed = "\n".join(f"  {name:<20} {recipe.summary}" for name, recipe in RECIPES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce",
        description="Run one of the paper's experiments, from the data to a table of results. What an earlier run has "
        "finished is kept.",
        epilog=f"experiments:\n{listed}\n\nexamples:\n  python -m benchmarks.reproduce mnist\n"
        "  INFOPURSUIT_DATA=data python -m benchmarks.reproduce fashion --inputs 500\n"
        "  python -m benchmarks.reproduce all --page docs/results",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("experiment", choices=[*RECIPES, ALL], metavar="EXPERIMENT", help=f"one of the list, or {ALL}")
    add_out(parser)
    parser.add_argument("--inputs", type=positive, default=None, metavar="N", help="only the first N test inputs")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of everything that is drawn (default: 0)")
    parser.add_argument(
        "--page",
        type=Path,
        default=None,
        metavar="FILE",
        help="a page, or a folder of pages, whose tables are written anew",
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Run one experiment, or all."""
    # what is tried on a few inputs, or with another seed, must not take the place of the whole
    folder = args.out if args.inputs is None else args.out / f"first-{args.inputs}"
    folder = folder if args.seed == 0 else folder / f"seed-{args.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in RECIPES if args.experiment == ALL else [args.experiment]:
        say("", f"── {name}: {RECIPES[name].summary}")
        result = RECIPES[name].run(Experiment(name, folder, args.inputs, args.seed, say, True))
        if result.get("rows"):
            say("", markdown(result["rows"]))
        if result.get("differences"):
            say("", markdown_differences(result["differences"]))
    if args.page is not None:
        say(f"{args.page}: {', '.join(update_page(args.page, args.out)) or 'nothing to write'}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
