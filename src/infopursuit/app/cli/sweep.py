"""``infopursuit sweep``: which model and which confidence suit some data, over folds and seeds, on any engine."""

from __future__ import annotations

import argparse
from pathlib import Path

from infopursuit.app.cli.explain import add_engine_arguments, engine_of
from infopursuit.app.cli.main import positive, whole
from infopursuit.app.jobs.sweep import EPSILONS, MODELS, Sweep, sweep
from infopursuit.presentation.plots import save, trade_off
from infopursuit.support.terminal import Terminal, table

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
    add("--seeds", type=positive, default=1, metavar="N", help="how many seeds (1)")
    add("--folds", type=whole, default=5, metavar="N", help="parts that the data are cut into (5)")
    add("--again", action="store_true", help="forget what an earlier sweep has left in the folder")
    add_engine_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Sweep, tell, draw."""
    terminal = Terminal()
    options = {name: getattr(args, name) for name in ("label", "models", "epsilons", "folds", "again")}
    done = sweep(args.data, args.out, seeds=range(args.seeds), engine=engine_of(args), progress=True, **options)
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
    lines = [["model", "stops at", "accuracy, %", "", "questions", ""]]
    for row in done.rows:
        right, asked = _interval(row.accuracy_interval, 100), _interval(row.length_interval, 1)
        confidence = f"{100 * (1 - row.epsilon):g} %"
        lines.append([row.model, confidence, f"{100 * row.accuracy:.1f}", right, f"{row.length:.1f}", asked])
    return lines


def _interval(interval: tuple[float, float] | None, scale: float) -> str:
    return "" if interval is None else f"{scale * max(interval[0], 0.0):.1f} to {scale * interval[1]:.1f}"
