"""``infopursuit explain``: a saved model on data, every input's questions and answers as rows and as a page."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import nullcontext
from pathlib import Path

from infopursuit.cli.main import positive, whole, write_text
from infopursuit.jobs.engines import ENGINES, Engine
from infopursuit.jobs.job import Explained, explain
from infopursuit.report.page import MOST, Shown, batch_page, show
from infopursuit.report.summary import most_common
from infopursuit.terminal import Terminal, table

EXAMPLES = (
    "infopursuit explain new.csv --model my-model --out explained",
    "infopursuit explain digits --model my-digits --inputs 20 --html digits.html",
    "infopursuit explain archive/ --model my-model --out explained --engine ray --workers 8",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``explain``."""
    add = parser.add_argument
    add("data", metavar="DATA", help="table (.csv, .tsv, .parquet) or .npz file, folder of Parquet "
        "files, or the name of a data set")  # fmt: skip
    add("--model", required=True, type=Path, metavar="DIR", help="folder of a saved model")
    add("--out", type=Path, metavar="DIR", help="folder for the rows, traces.parquet; what was stopped goes on there")
    add("--html", type=Path, metavar="FILE", help="write one page that needs nothing else")
    add("--max-shown", type=whole, default=MOST, metavar="N", help=f"explanations in the page at most ({MOST})")
    add("--label", metavar="COLUMN", help="the column of a table that holds the labels, if any")
    add("--name", metavar="COLUMN", help="the column of a table that says what the inputs are called, if any")
    add("--inputs", type=positive, metavar="N", help="only the first N inputs")
    add("--title", metavar="TEXT", help="headline of the page")
    add("--part", type=positive, metavar="N", help="inputs in a part (1,000; more beyond 10,000 parts)")
    add("--again", action="store_true", help="forget what an earlier job has left in the folder")
    add_engine_arguments(parser)


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Where work is done."""
    add = parser.add_argument
    add("--engine", choices=ENGINES, default=ENGINES[0], help="this process (local, the default), or many on Ray")
    add("--workers", type=positive, metavar="N", help="processes on Ray (as many as it has cores)")
    add("--threads", type=positive, metavar="N", help="of each process (on Ray: 1)")
    add("--address", metavar="ADDRESS", help="of a running Ray cluster, such as auto (else this machine alone)")


def engine_of(args: argparse.Namespace) -> Engine:
    """The engine that the options say."""
    return Engine(args.engine, args.workers, args.threads, args.address)


def run(args: argparse.Namespace) -> int:
    """Read, explain, write, tell."""
    terminal = Terminal()
    if args.html is not None and args.html.is_dir():
        raise ValueError(f"--html {args.html} is a folder; give a file such as explained.html")
    kept = tempfile.TemporaryDirectory() if args.out is None else nullcontext(args.out)
    with kept as out:
        options = {name: getattr(args, name) for name in ("label", "name", "inputs", "part", "again")}
        done = explain(args.data, args.model, out, engine=engine_of(args), progress=True, **options)
        shown = first_of(done, max(args.max_shown, 1) if args.html is not None else 1)
    written = [] if args.out is None else [done.traces]
    if args.html is not None:
        title = args.title or f"{Path(args.data).name}, asked by {args.model.name}"
        written.append(write_text(args.html, batch_page(done.summary, shown[: args.max_shown], title=title)))
    _tell(done, shown, terminal)
    if done.n_kept:
        terminal.say("", f"{done.n_kept} of {done.n_parts} parts were there from an earlier run.")
    terminal.say("", *(f"written to {file}" for file in written))
    return 0


def first_of(done: Explained, most: int) -> list[Shown]:
    """The first inputs as they stand in a page. They are asked again: an earlier run, or another machine, may have
    explained them, and the same input is always asked the same."""
    some = done.source.read(0, min(most, done.summary.n_inputs))
    trace = done.pursuit.run(some.X, progress=False)
    images = some.X if getattr(done.pursuit.queries, "shape", None) is not None else None
    return show(trace, most, images, some.y, some.names)


def _tell(done: Explained, shown: list[Shown], terminal: Terminal) -> None:
    summary = done.summary
    n = summary.n_inputs
    right = "" if summary.n_right is None else f"accuracy {100 * summary.n_right / n:.1f} %, "
    terminal.tell(
        f"{n:,} inputs of {done.source.about}: {right}{summary.mean_length:.1f} questions on average, "
        f"{summary.longest} at most."
    )
    if summary.n_novel is not None:
        terminal.tell(f"{summary.n_novel:,} of them are novel (p-value up to 0.05): do not trust their labels.")
    rows, n_more, rest = most_common(summary.predictions, 6)
    lines = [["prediction", "inputs", "share"]]
    lines += [[name, f"{count:,}", f"{100 * count / n:.1f} %"] for name, count in rows]
    if n_more:
        lines.append([f"{n_more} more", f"{rest:,}", f"{100 * rest / n:.1f} %"])
    terminal.say("", *table(lines))
    if shown:
        terminal.head(f"The first of them{'' if shown[0].truth is None else f', labelled {shown[0].truth}'}")
        terminal.say(shown[0].explanation.to_text(width=terminal.width))
