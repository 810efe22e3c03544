"""``infopursuit bench``, ``reproduce`` and ``train``: the measurements behind RESULTS.md, each in one command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infopursuit.evaluation.bench import bench
from infopursuit.evaluation.reproduce import RECIPES, reproduce
from infopursuit.evaluation.samplers import reproduce_samplers
from infopursuit.evaluation.vae import reproduce_vae, train_mnist
from infopursuit.terminal import Terminal

FOLDER = Path("benchmarks/results")

BENCH_SUMMARY = "measure speed, and how often the short cuts miss the best query"
BENCH_EXAMPLES = ("infopursuit bench", "infopursuit bench --histories 20 --out results")
TRAIN_SUMMARY = "train the generative model of an experiment; stopped and called again, it goes on"
TRAIN_EXAMPLES = ("infopursuit train mnist --out mnist-vae.safetensors",)
REPRODUCE_SUMMARY = "run one of the paper's experiments, from the data to a table of results"
REPRODUCE_EXAMPLES = ("infopursuit reproduce mnist", "INFOPURSUIT_DATA=data infopursuit reproduce fashion --inputs 500")


def add_bench_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bench``."""
    _add_out(parser)
    parser.add_argument(
        "--histories", type=_positive, default=120, metavar="N", help="histories to compare on (default: 120)"
    )


def run_bench(args: argparse.Namespace) -> int:
    """Measure and tell."""
    bench(folder=args.out, say=Terminal().say, n_histories=args.histories)
    return 0


def add_reproduce_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``reproduce``."""
    parser.add_argument("experiment", choices=[*sorted(RECIPES), "mnist-vae", "mnist-samplers"], help="which one")
    _add_out(parser)
    parser.add_argument("--inputs", type=_positive, default=None, metavar="N", help="only the first N test inputs")


def run_reproduce(args: argparse.Namespace) -> int:
    """Run one experiment."""
    others: dict[str, Callable[..., Any]] = {"mnist-vae": reproduce_vae, "mnist-samplers": reproduce_samplers}
    if args.experiment in others:
        others[args.experiment](folder=args.out, n_inputs=args.inputs, say=Terminal().say, progress=True)
        return 0
    reproduce(args.experiment, folder=args.out, n_inputs=args.inputs, say=Terminal().say, progress=True)
    return 0


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``train``."""
    parser.add_argument("experiment", choices=["mnist"], help="whose model to train")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the weights go")


def run_train(args: argparse.Namespace) -> int:
    """Train, or go on with a training that was stopped."""
    train_mnist(args.out, say=Terminal().say, progress=True)
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
