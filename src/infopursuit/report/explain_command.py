"""``infopursuit explain``: a saved model on data, every input's questions and answers as rows and as a page."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from infopursuit.engine import Pursuit
from infopursuit.evaluation.data_files import Examples, read_examples
from infopursuit.files import write_atomically
from infopursuit.progress import Progress
from infopursuit.report.page import MOST, Shown, batch_page, show
from infopursuit.report.summary import Summary, most_common
from infopursuit.report.trace_files import trace_file
from infopursuit.storage import load_pursuit
from infopursuit.terminal import Terminal, table

SUMMARY = "explain inputs: questions and answers as a table and an HTML page"
EXAMPLES = (
    "infopursuit explain new.csv --model my-model --out explained",
    "infopursuit explain digits --model my-digits --inputs 20 --html digits.html",
)
AT_ONCE = 1_000
"""Inputs that are explained together; traces of more would only take memory."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``explain``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=".csv, .tsv, .parquet or .npz file, or the name of a data set")
    add("--model", required=True, type=Path, metavar="DIR", help="folder of a saved model")
    add("--out", type=Path, metavar="DIR", help="folder for the rows: traces.parquet (without pyarrow traces.jsonl)")
    add("--html", type=Path, metavar="FILE", help="write one page that needs nothing else")
    add("--most", type=_count, default=MOST, metavar="N", help=f"explanations in the page at most ({MOST})")
    add("--label", metavar="COLUMN", help="the column of a table that holds the labels, if any")
    add("--inputs", type=_positive, metavar="N", help="only the first N inputs")
    add("--title", metavar="TEXT", help="headline of the page")


def run(args: argparse.Namespace) -> int:
    """Read, explain, write, tell."""
    terminal = Terminal()
    if args.html is not None and args.html.is_dir():
        raise ValueError(f"--html {args.html} is a folder; give a file such as explained.html")
    call = f"ip.load({str(args.model)!r}, functions=...).explain(X).to_html('explained.html')"
    pursuit = load_pursuit(args.model, f"explain from Python: {call}")
    data = read_examples(args.data, pursuit, label=args.label, labelled=False).first(args.inputs)
    if not len(data.X):
        raise ValueError(f"{data.source} has no rows; there is nothing to explain")
    summary, shown, written = explain(pursuit, data, args.out, args.most if args.html is not None else 1)
    if args.html is not None:
        args.html.parent.mkdir(parents=True, exist_ok=True)
        title = args.title or f"{Path(args.data).name}, asked by {args.model.name}"
        write_atomically(args.html, batch_page(summary, shown, title=title).encode())
        written.append(args.html)
    _tell(summary, shown, data, terminal)
    terminal.say("", *(f"written to {file}" for file in written))
    return 0


def explain(pursuit: Pursuit, data: Examples, out: Path | None, most: int) -> tuple[Summary, list[Shown], list[Path]]:
    """Explain all inputs, a part at a time: what they have in common, the first of them, and the files written."""
    summary, n, images = Summary(), len(data.X), _images(pursuit)
    shown: list[Shown] = []
    with ExitStack() as stack, Progress("explaining", n) as progress:
        rows = None if out is None else stack.enter_context(trace_file(out))
        for start in range(0, n, AT_ONCE):
            X = data.X[start : start + AT_ONCE]
            y = None if data.y is None else data.y[start : start + AT_ONCE]
            trace = pursuit.run(X, progress=False)
            summary.add(trace, y)
            if len(shown) < max(most, 1):
                shown += show(trace, max(most, 1) - len(shown), _pixels(X) if images else None, y, start=start)
            if rows is not None:
                rows.add(trace, y)
            progress.advance(len(trace))
    return summary, shown, [] if rows is None else [rows.path]


def _tell(summary: Summary, shown: list[Shown], data: Examples, terminal: Terminal) -> None:
    n = summary.n_inputs
    right = "" if summary.n_right is None else f"{100 * summary.n_right / n:.1f} % right, "
    terminal.tell(
        f"{n:,} inputs of {data.source}: {right}{summary.mean_length:.1f} questions on average, {summary.longest} at "
        f"most."
    )
    if summary.n_unlike is not None:
        terminal.tell(f"{summary.n_unlike:,} of them are unlike those of training: do not trust their labels.")
    rows, n_more, rest = most_common(summary.predictions, 6)
    lines = [["what came out", "inputs", "share"]]
    lines += [[name, f"{count:,}", f"{100 * count / n:.1f} %"] for name, count in rows]
    if n_more:
        lines.append([f"{n_more} more", f"{rest:,}", f"{100 * rest / n:.1f} %"])
    terminal.say("", *table(lines))
    if shown:
        terminal.head(f"The first of them{'' if shown[0].truth is None else f', labelled {shown[0].truth}'}")
        terminal.say(shown[0].explanation.to_text(width=terminal.width))


def _images(pursuit: Pursuit) -> bool:
    return getattr(pursuit.queries, "shape", None) is not None


def _pixels(X: Any) -> Any:
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)
