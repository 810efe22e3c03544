"""``infopursuit explain``: a saved model on data, every input's questions and answers as rows and as a page."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from infopursuit.app import shipped
from infopursuit.app.cli.main import add_language, positive, whole, write_text
from infopursuit.app.datasets.examples import Source
from infopursuit.app.jobs.engines import ENGINES, Engine
from infopursuit.app.jobs.job import Explained, explain
from infopursuit.presentation import case, report
from infopursuit.presentation.performance import performance_of
from infopursuit.presentation.report.page import MAX_INDEX, MOST, Row, Shown, batch_page, show
from infopursuit.presentation.report.summary import most_common
from infopursuit.queries.columns import Columns
from infopursuit.queries.queryset import near
from infopursuit.support.checks import pursuit_of
from infopursuit.support.messages import Messages, load
from infopursuit.support.terminal import Terminal, table

EXAMPLES = (
    "infopursuit explain new.csv --model my-model --out explained",
    "infopursuit explain digits --model my-digits --inputs 20 --html digits.html",
    "infopursuit explain new.csv --model my-model --name patient --case 'case 17' --html case-17.html",
    "infopursuit explain archive/ --model my-model --out explained --engine ray --workers 8",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``explain``."""
    add = parser.add_argument
    add("data", metavar="DATA", help="table (.csv, .tsv, .parquet) or .npz file, folder of Parquet "
        "files, or the name of a data set")  # fmt: skip
    add("--model", required=True, type=Path, metavar="DIR", help="folder of a saved model")
    add("--out", type=Path, metavar="DIR", help="folder for the rows, traces.parquet; what was stopped goes on there")
    add("--html", type=Path, metavar="FILE", help="write a report, one page that needs nothing else")
    add("--case", metavar="NAME", help="only this input: its name (see --name), or its number from 1 on")
    add_language(parser, "en")
    add("--max-shown", type=whole, default=MOST, metavar="N", help=f"explanations in the page at most ({MOST})")
    add("--label", metavar="COLUMN", help="the column of a table that holds the labels, if any")
    add("--name", metavar="COLUMN", help="the column of a table that says what the inputs are called, if any")
    add("--inputs", type=positive, metavar="N", help="only the first N inputs")
    add("--title", metavar="TEXT", help="headline of the page")
    add("--part", type=positive, metavar="N", help="inputs in a part (1,000; more beyond 10,000 parts)")
    add("--again", action="store_true", help="forget what an earlier job has left in the folder")
    add("--skip-bad", action="store_true", help="leave out files of the folder that are damaged, and name them")
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
    if args.case is not None:
        return explain_case(args, terminal)
    kept = tempfile.TemporaryDirectory() if args.out is None else nullcontext(args.out)
    with kept as out:
        options = {name: getattr(args, name) for name in ("label", "name", "inputs", "part", "again", "skip_bad")}
        done = explain(args.data, args.model, out, engine=engine_of(args), progress=True, **options)
        shown = first_of(done, max(args.max_shown, 1) if args.html is not None else 1, load(args.lang))
        index = index_of(done, load(args.lang)) if args.html is not None else []
    written = [] if args.out is None else [done.traces]
    if args.html is not None:
        title = args.title or f"{Path(args.data).name}, asked by {args.model.name}"
        about: Any = {"label": done.pursuit.label_name, "queries": done.pursuit.queries, "words": load(args.lang)}
        about["performance"] = performance_of(shipped.open_model(args.model))
        page = batch_page(done.summary, shown[: args.max_shown], index, title=title, **about)
        written.append(write_text(args.html, page))
    _tell(done, shown, terminal, args.lang)
    _tell_unseen(done, terminal)
    if done.skipped:
        terminal.tell(f"Left out, because it cannot be read: {', '.join(done.skipped)}.")
    if done.n_kept:
        terminal.say("", f"{done.n_kept} of {done.n_parts} parts were there from an earlier run.")
    terminal.say("", *(f"written to {file}" for file in written))
    return 0


def explain_case(args: argparse.Namespace, terminal: Terminal) -> int:
    """Explain one input of the data, as text and as a report of its own."""
    model, words = shipped.open_model(args.model), load(args.lang)
    pursuit = pursuit_of(model)
    source = Source(str(args.data), args.label, args.name).open(pursuit)
    some = source.read(0, source.n_inputs)
    names = [str(i + 1) for i in range(source.n_inputs)] if some.names is None else [str(name) for name in some.names]
    if args.case not in names:
        raise ValueError(f"--case {args.case} is no input of {source.about}; {near(args.case, names)}")
    i = names.index(args.case)
    one = some.X.iloc[[i]] if hasattr(some.X, "iloc") else some.X[i : i + 1]
    trace = pursuit.run(one, progress=False)
    session = pursuit.session(trace.history(0), known=dict(trace.known_history(0)))
    terminal.say(trace[0].to_text(width=terminal.width, language=args.lang))
    if args.html is not None:
        told = {"name": args.case, "model": args.model.name, "version": shipped.version(args.model)}
        about = case.about(session, words, classifier=model, **told)
        image = one[0] if pursuit.queries.shape is not None else None
        truth = None if some.y is None else some.y[i]
        page = report.write(trace[0], image=image, truth=truth, title=args.title, language=args.lang, about=about)
        terminal.say("", f"written to {write_text(args.html, page)}")
    return 0


def index_of(done: Explained, words: Messages) -> list[Row]:
    """The first inputs for the index of a page, as the job wrote them."""
    from pyarrow import dataset

    columns = ["name", "prediction", "probability", "length", "label"]
    rows = dataset.dataset(done.traces, format="parquet").head(MAX_INDEX, columns=columns).to_pylist()
    names = [words("report.input", k=k) if row["name"] is None else row["name"] for k, row in enumerate(rows, start=1)]
    return [Row(name, *(row[each] for each in columns[1:])) for name, row in zip(names, rows, strict=True)]


def first_of(done: Explained, most: int, words: Messages) -> list[Shown]:
    """The first inputs as they stand in a page. They are asked again: an earlier run, or another machine, may have
    explained them, and the same input is always asked the same."""
    some = done.source.read(0, min(most, done.summary.n_inputs))
    trace = done.pursuit.run(some.X, progress=False)
    images = some.X if done.pursuit.queries.shape is not None else None
    return show(trace, most, images, some.y, some.names, words)


def _tell_unseen(done: Explained, terminal: Terminal) -> None:
    """Name the categories among the first inputs that training did not have."""
    queries, n = done.pursuit.queries, min(done.summary.n_inputs, MAX_INDEX)
    if isinstance(queries, Columns):
        for name, (count, example) in queries.unseen(done.source.read(0, n).X).items():
            what = f"{count:,} of {n:,} cells hold a category that training did not have, such as {example[:40]!r}"
            terminal.tell(f"Column {name!r}: {what}. They count as not known.")


def _tell(done: Explained, shown: list[Shown], terminal: Terminal, language: str | None) -> None:
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
        terminal.say(shown[0].explanation.to_text(width=terminal.width, language=language))
