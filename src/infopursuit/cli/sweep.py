"""``infopursuit sweep``: which model and which confidence suit some data, over folds and seeds, on any engine."""

from __future__ import annotations

import argparse
from pathlib import Path

from infopursuit.cli.explain import add_engine_arguments, engine_of
from infopursuit.jobs.sweep import EPSILONS, MODELS, Sweep, sweep
from infopursuit.plots import save, trade_off
from infopursuit.terminal import Terminal, table

SUMMARY = "fit and evaluate over folds, seeds, models and confidences, here or on a cluster"
EXAMPLES = (
    "infopursuit sweep patients.csv --label diagnosis --out swept",
    "infopursuit sweep digits --models table empirical --seeds 3 --out swept --engine ray --workers 4",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``sweep``."""
    add = parser.add_argument
    add("data", metavar="DATA", help="table file, or the name of a data set (its training part)")
    add("--label", metavar="COLUMN", help="the column of a table that is to be found out")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for the runs, sweep.json and sweep.png")
    add("--models", nargs="+", choices=MODELS, default=["auto"], metavar="MODEL", help=f"some of {', '.join(MODELS)}")
    add("--epsilons", nargs="+", type=float, default=list(EPSILONS), metavar="E", help="stop at 1 - E (0.5 to 0.01)")
    add("--seeds", type=int, default=1, metavar="N", help="how many seeds (1)")
    add("--folds", type=int, default=5, metavar="N", help="parts that the data are cut into (5)")
    add("--most", type=int, metavar="N", help="questions at most")
    add("--again", action="store_true", help="forget what an earlier sweep has left in the folder")
    add_engine_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Sweep, tell, draw."""
    if args.seeds < 1:
        raise ValueError(f"--seeds {args.seeds} must be a whole number, 1 or more")
    terminal = Terminal()
    done = sweep(
        args.data,
        args.out,
        label=args.label,
        models=args.models,
        epsilons=args.epsilons,
        seeds=range(args.seeds),
        folds=args.folds,
        max_queries=args.most,
        engine=engine_of(args),
        again=args.again,
        progress=True,
    )
    terminal.tell(
        f"{done.n_runs} runs, {done.n_kept} of them from an earlier call; means over runs, with 95 % intervals from "
        f"their spread."
    )
    terminal.say("", *table(_lines(done)))
    terminal.say("", f"written to {done.folder / 'sweep.json'}")
    try:
        seeds = "1 seed" if args.seeds == 1 else f"{args.seeds} seeds"
        picture = trade_off(done.curves(), title=f"{Path(args.data).name}: {args.folds} folds, {seeds}")
    except ImportError:
        return 0  # the table says the same
    save(picture, done.folder / "sweep.png")
    terminal.say(f"written to {done.folder / 'sweep.png'}")
    return 0


def _lines(done: Sweep) -> list[list[str]]:
    lines = [["model", "stops at", "right, %", "", "questions", ""]]
    for row in done.rows:
        right, asked = _interval(row.accuracy_interval, 100), _interval(row.length_interval, 1)
        confidence = f"{100 * (1 - row.epsilon):g} %"
        lines.append([row.model, confidence, f"{100 * row.accuracy:.1f}", right, f"{row.length:.1f}", asked])
    return lines


def _interval(interval: tuple[float, float] | None, scale: float) -> str:
    return "" if interval is None else f"{scale * interval[0]:.1f} to {scale * interval[1]:.1f}"
