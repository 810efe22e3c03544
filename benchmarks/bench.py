"""``python -m benchmarks.bench [WHAT]``: speed, load, hostile input and kills, each measured by one word."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.animal_game import bench_animals
from benchmarks.pages import update_page
from benchmarks.program import add_out, positive, run_program, say
from benchmarks.serving.hostile import bench_hostile
from benchmarks.serving.load import bench_serve
from benchmarks.speed import bench

MISSED = 1
"""Exit code where what was demanded did not come out."""

Options = argparse.Namespace
Say = Callable[[str], None]


@dataclass(frozen=True)
class Measurement:
    """What it shows, and what takes it: whether all that was demanded came out."""

    summary: str
    take: Callable[[Options, Say], bool]


def _speed(args: Options, say: Say) -> bool:
    bench(folder=args.out, say=say, n_histories=args.histories)
    return True


def _animals(args: Options, say: Say) -> bool:
    bench_animals(folder=args.out, say=say)
    return True


def _serve(args: Options, say: Say) -> bool:
    bench_serve(args.model, people=args.people or 200, seconds=args.seconds or 60, folder=args.out, say=say)
    return True


def _requests(args: Options, say: Say) -> bool:
    return bool(bench_hostile(args.number or 10_000, seed=args.seed, folder=args.out, say=say)["passed"])


def _folders(args: Options, say: Say) -> bool:
    from benchmarks.hardening.model_folders import bench_folders

    return bench_folders(args.number or 1_000, args.seed, folder=args.out, say=say)


def _kills(args: Options, say: Say) -> bool:
    from benchmarks.hardening.kills import bench_kills

    return bool(bench_kills(args.number or 20, folder=args.out, say=say, seed=args.seed)["passed"])


def _drivers(args: Options, say: Say) -> bool:
    from benchmarks.hardening.killed_tasks import DRIVERS
    from benchmarks.hardening.kills import bench_kills

    options = {"seed": args.seed, "tasks": DRIVERS, "name": "driver-kills"}
    return bool(bench_kills(args.number or 20, folder=args.out, say=say, **options)["passed"])


def _nodes(args: Options, say: Say) -> bool:
    from benchmarks.hardening.nodes import bench_nodes

    return bool(bench_nodes(args.number or 5, 3_000, folder=args.out, say=say, seed=args.seed)["passed"])


def _jobs(args: Options, say: Say) -> bool:
    from benchmarks.jobs import bench_jobs

    return bool(bench_jobs(args.number or 50_000, folder=args.out, say=say)["passed"])


def _job_threads(args: Options, say: Say) -> bool:
    from benchmarks.jobs import bench_threads

    return bench_threads(args.number or 2_000, 5, folder=args.out, say=say)


MEASUREMENTS = {
    "speed": Measurement("how fast queries are chosen, and how often short cuts miss the best one", _speed),
    "animals": Measurement("how often the animals that come along are found", _animals),
    "serve": Measurement("a server that --people answer for --seconds", _serve),
    "hostile-models": Measurement("altered model folders, which are refused or load rightly (1,000)", _folders),
    "hostile-requests": Measurement("requests that no client should send (10,000)", _requests),
    "kills": Measurement("what is left of work that was killed (20 kills of each task)", _kills),
    "driver-kills": Measurement("jobs whose driver is killed, in one process and on Ray (20 kills of each)", _drivers),
    "node-kills": Measurement("jobs on two nodes of Ray, one of which is killed (5 kills)", _nodes),
    "job-threads": Measurement("a job with one and with two threads, in turn (2,000 inputs)", _job_threads),
    "jobs": Measurement("one and two workers on Ray, and one that is killed (50,000 inputs)", _jobs),
}


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    listed = "\n".join(f"  {name:<17} {measurement.summary}" for name, measurement in MEASUREMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench",
        description="Measure speed, load, hostile input and kills.",
        epilog=f"measurements:\n{listed}\n\nexamples:\n  python -m benchmarks.bench\n"
        "  python -m benchmarks.bench serve --model animals --people 200 --seconds 60\n"
        "  python -m benchmarks.bench kills --page RELIABILITY.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "what", nargs="?", choices=list(MEASUREMENTS), default="speed", metavar="WHAT", help="one of the list (speed)"
    )
    add_out(parser)
    add = parser.add_argument
    add("--number", type=positive, metavar="N", help="of folders, requests, kills or inputs (as the list says)")
    add("--seed", type=int, default=0, metavar="N", help="of what is hostile or killed (0)")
    add("--histories", type=positive, default=120, metavar="N", help="speed: histories to compare on (120)")
    add("--model", default="animals", metavar="MODEL", help="serve: what, as `serve` takes it (animals)")
    add("--people", type=positive, metavar="N", help="serve: who answer a server at once (200)")
    add("--seconds", type=positive, metavar="N", help="serve: for how long they do (60)")
    add("--page", type=Path, metavar="FILE", help="a page whose tables are written anew")
    return parser


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    passed = MEASUREMENTS[args.what].take(args, say)
    if args.page is not None:
        say(f"{args.page}: {', '.join(update_page(args.page, args.out)) or 'nothing to write'}")
    return 0 if passed else MISSED


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
