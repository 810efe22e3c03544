"""Explaining many inputs as a job: in parts, in one process or in many, going on where it was stopped.

    DIR/traces.parquet/part-000000.parquet   the rows of the first part, and so on: one table in many files
    DIR/.job/job.json                        what the job is about
    DIR/.job/done/000000.json                a part that is finished: how many bytes it has, and a summary

A part counts as finished when its file in ``done`` is there; all files are written beside and renamed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from infopursuit.app.datasets.examples import Inputs, Source
from infopursuit.app.jobs.engines import Engine, Make, Unit
from infopursuit.estimator.storage import from_files_for_command
from infopursuit.estimator.table_files import import_arrow
from infopursuit.presentation.report.summary import Summary
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.trace import Trace
from infopursuit.saving.files import MANIFEST, read_model
from infopursuit.support.checks import pursuit_of, whole_number
from infopursuit.support.files import locked, replacing, sweep_leftovers, write_atomically
from infopursuit.support.progress import Progress

MIN_PART, MAX_PARTS = 1_000, 10_000
"""A part has at least so many inputs, and more where there would be more parts than so many."""
HIDDEN, LOCK = ".job", ".job.lock"
TRACES = "traces.parquet"
"""What the folder of traces is called."""
COLUMNS = ("input", "name", "prediction", "probability", "label", "p_value", "length", "stop_reason", "steps")
STEP = {name: name for name in ("query", "question", "answer", "gain", "prediction")} | {"confidence": "probability"}
"""The columns of a step, and what a job calls them."""
BEFORE = "explain from Python: ip.load({!r}, functions=...).explain(X)"


@dataclass(frozen=True)
class Explained:
    """What a job has made.

    folder, traces: where it is. summary: what the inputs have in common. n_parts: how many there are. n_kept: those
    that an earlier run had finished. seconds: of this run. pursuit, source: what was asked about what. skipped: damaged
    files that were left out.
    """

    folder: Path
    traces: Path
    summary: Summary
    n_parts: int
    n_kept: int
    seconds: float
    pursuit: Pursuit[Any]
    source: Inputs
    skipped: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.summary.n_inputs:,} inputs explained in {self.n_parts} parts in {self.traces}>"


def explain(
    data: Any,
    model: Any,
    out: Any,
    *,
    engine: Engine | Literal["local", "ray"] = "local",
    label: str | None = None,
    name: str | None = None,
    inputs: int | None = None,
    part: int | None = None,
    again: bool = False,
    skip_bad: bool = False,
    progress: bool | None = None,
) -> Explained:
    """Explain every input of a file, a folder or a data set, and write the questions and answers as Parquet.

    Called again after it was stopped, it goes on: finished parts are kept. Queries, answers and lengths do not depend
    on the engine, nor on how often it was stopped; numbers agree to 1e-9.

    Parameters
    ----------
    data: a table or .npz file, a folder of Parquet files, or the name of a data set.
    model: the folder of a saved model.
    out: a folder for ``traces.parquet``, one table in many files.
    engine: "local" or "ray", or an `Engine`, which says on how many workers.
    label: the column of a table that holds the true classes. name: that of what the inputs are called.
    inputs: only so many, the first. part: inputs in a part, 1,000 or more where nothing is given.
    again: forget what an earlier job has left in ``out``.
    skip_bad: leave out damaged files of a folder, which are looked for first; else they are refused by name.
    """
    chosen = engine if isinstance(engine, Engine) else Engine(engine)
    begin = time.perf_counter()
    for what, value in (("inputs", inputs), ("part", part)):
        if value is not None:
            whole_number(value, what, 1)
    folder = Path(out)
    job = JobFolder(folder, TRACES)
    place = Source(str(data), label, name)
    saved = Path(model)
    asked: dict[str, Any] = {"label": label, "name": name, "inputs": inputs, "part": part}
    about = {"model": _checksum(saved), "data": place.identity(), **asked}
    if skip_bad:
        place = place.without_damaged()
        about["skipped"] = list(place.skipped)
    pursuit = load_checked(saved, about["model"])
    source = place.open(pursuit)  # what cannot be read leaves nothing behind
    if not source.n_inputs:
        raise ValueError(f"{source.about} has no rows; there is nothing to explain")
    n = source.n_inputs if inputs is None else min(source.n_inputs, inputs)
    size = part or max(MIN_PART, -(-n // MAX_PARTS))
    units = [{"number": i, "start": s, "stop": min(s + size, n)} for i, s in enumerate(range(0, n, size))]
    summary, kept = Summary(), set[int]()
    with job.begun(about, again=again):
        for told in job.all_finished(len(units)):
            kept.add(told["number"])
            summary.merge(Summary.from_spec(told["summary"]))
        todo = [unit for unit in units if unit["number"] not in kept]
        make: Make = partial(_make, str(saved.absolute()), about["model"], place, str(folder.absolute()), job.traces)
        if chosen.kind == "local":  # all is open already
            make = partial(Explainer, pursuit, source, job)
        with Progress("explaining", n, show=progress, done=n - sum(u["stop"] - u["start"] for u in todo)) as shown:
            for unit, told in chosen.run(make, todo):
                summary.merge(Summary.from_spec(told["summary"]))
                shown.advance(unit["stop"] - unit["start"])
        job.sweep()  # workers may have died
    if summary.n_inputs != n:
        raise RuntimeError(f"{summary.n_inputs} inputs were counted instead of {n}; begin {folder} again")
    traces, took = folder / job.traces, time.perf_counter() - begin
    return Explained(folder, traces, summary, len(units), len(kept), took, pursuit, source, place.skipped)


class Explainer:
    """Explains a part: what a worker does."""

    def __init__(self, pursuit: Pursuit[Any], source: Inputs, job: JobFolder) -> None:
        self.pursuit, self.source, self.job = pursuit, source, job
        self.at_once = at_once(pursuit)

    def __call__(self, unit: Unit) -> dict[str, Any]:
        """Write the rows of a part, and tell what they have in common."""
        number, summary = unit["number"], Summary()
        finished = self.job.finished(number)
        if finished is not None:  # by a worker that died before it could tell
            return finished
        with trace_file(self.job.part(number), unit["start"]) as add:
            for start in range(unit["start"], unit["stop"], self.at_once):
                some = self.source.read(start, min(start + self.at_once, unit["stop"]))
                trace = self.pursuit.run(some.X, progress=False)
                summary.add(trace, some.y)
                add(trace, some.y, some.names)
        return self.job.finish(number, {"summary": summary.to_spec()})


def at_once(pursuit: Pursuit[Any], most: int = 1_000, numbers: int = 2**26) -> int:
    """Inputs that are asked together, so few that their trace takes at most about a quarter of a gigabyte."""
    return max(1, min(most, numbers // (len(pursuit.classes) * min(len(pursuit.queries), 1_000))))


def load_checked(saved: Path, checksum: str) -> Pursuit[Any]:
    """Load the model of a job; `ValueError` where it is not the one with which the job began."""
    files = read_model(saved)
    if files.checksum != checksum:
        raise ValueError(
            f"the model in {saved} was replaced while the job runs; put the old one back to finish it, or begin again "
            f"with the new one (again=True, --again)"
        )

    pursuit: Pursuit[Any] = pursuit_of(from_files_for_command(files, BEFORE.format(str(saved))))
    return pursuit


def _make(model: str, checksum: str, place: Source, folder: str, traces: str) -> Explainer:
    """An explainer in another process, which has only names."""
    pursuit = load_checked(Path(model), checksum)
    return Explainer(pursuit, place.open(pursuit), JobFolder(Path(folder), traces))


def _checksum(folder: Path) -> str:
    """Of a saved model; its manifest has the checksums of all the rest."""
    file = folder / MANIFEST
    if not file.is_file():
        raise FileNotFoundError(f"{folder} has no {MANIFEST}; give a folder that save() wrote")
    return hashlib.sha256(file.read_bytes()).hexdigest()


# ---- the folder -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JobFolder:
    """A folder for a job. traces: the name of what it writes."""

    folder: Path
    traces: str

    @contextmanager
    def begun(self, about: dict[str, Any], *, again: bool = False) -> Iterator[None]:
        """Within it this is the folder of a job, begun or found, which no other process works in.

        about: all that the result depends on, JSON data. A folder of another job is refused, unless it is to be begun
        again.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file; give a folder for the traces")
        self.folder.mkdir(parents=True, exist_ok=True)
        busy = f"{self.folder} is being written to by another job; wait until it has ended, or give another folder"
        with locked(self.folder / LOCK, busy):
            self._begin(about, again)
            yield

    def _begin(self, about: dict[str, Any], again: bool) -> None:
        if again and (self.folder / HIDDEN).is_dir():
            shutil.rmtree(self.folder / self.traces, ignore_errors=True)
            shutil.rmtree(self.folder / HIDDEN)
        earlier = self._read(self.plan)
        if earlier is not None and earlier != about:
            other = [name for name in about if earlier.get(name) != about[name]] or ["something"]
            raise ValueError(
                f"{self.folder} holds a job that differs in {' and '.join(other)}; give another folder, or forget it "
                f"(again=True, --again)"
            )
        where = self.folder / self.traces
        if earlier is None and where.exists():
            raise ValueError(f"{where} is there and belongs to no job; remove it, or give another folder")
        where.mkdir(parents=True, exist_ok=True)
        (self.folder / HIDDEN / "done").mkdir(parents=True, exist_ok=True)
        self.sweep()
        if earlier is None:
            write_atomically(self.plan, f"{json.dumps(about, indent=1)}\n".encode())

    def sweep(self) -> None:
        """Remove what killed processes of this machine have left half written."""
        for each in (self.folder / self.traces, self.folder / HIDDEN, self.folder / HIDDEN / "done"):
            sweep_leftovers(each)

    @property
    def plan(self) -> Path:
        """What says what the job is about."""
        return self.folder / HIDDEN / "job.json"

    def part(self, number: int) -> Path:
        """Where the rows of a part go."""
        return self.folder / self.traces / f"part-{number:06d}{Path(self.traces).suffix}"

    def finish(self, number: int, told: dict[str, Any]) -> dict[str, Any]:
        """Say that a part is finished, and what came of it."""
        told = {"number": number, "bytes": self.part(number).stat().st_size, **told}
        write_atomically(self._mark(number), f"{json.dumps(told)}\n".encode())
        return told

    def finished(self, number: int) -> dict[str, Any] | None:
        """What came of a part, or None where it is not finished or no longer whole."""
        told, file = self._read(self._mark(number)), self.part(number)
        if told is None or not file.is_file() or file.stat().st_size != told.get("bytes"):
            return None
        return told

    def all_finished(self, n: int) -> list[dict[str, Any]]:
        """What came of those of n parts that are finished."""
        return [told for number in range(n) if (told := self.finished(number)) is not None]

    def _mark(self, number: int) -> Path:
        return self.folder / HIDDEN / "done" / f"{number:06d}.json"

    @staticmethod
    def _read(file: Path) -> dict[str, Any] | None:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None


# ---- explanations as rows of a Parquet file -------------------------------------------------------------------------


def rows_of(trace: Trace, first: int, truth: Any = None, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """A row for each input: what came out, and the questions and answers, in the user's words, as JSON.

    first: the number of the first input. truth: the true classes. names: what the inputs are called.
    """
    told, table, nothing = trace.columns(), trace.columns("input"), [None] * len(trace)
    steps: list[list[dict[str, Any]]] = [[] for _ in range(len(trace))]
    values = ([str(v) for v in told[name]] if name == "prediction" else _json_values(told[name]) for name in STEP)
    for i, *step in zip(told["input"].tolist(), *values, strict=True):
        steps[i].append(dict(zip(STEP.values(), step, strict=True)))
    labels = nothing if truth is None else [None if label is None else str(label) for label in truth]
    columns = (
        range(first, first + len(trace)), names or nothing, map(str, table["prediction"]), table["confidence"].tolist(),
        labels, _json_values(table["novelty_p_value"]), table["length"].tolist(), table["stop_reason"].tolist(),
        (json.dumps(each, ensure_ascii=False, allow_nan=False) for each in steps),
    )  # fmt: skip
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]


def _json_values(values: Any) -> list[Any]:
    """Without NaN, which JSON has not."""
    return [None if value != value else value for value in (values.tolist() if hasattr(values, "tolist") else values)]


@contextmanager
def trace_file(file: Path, first: int = 0) -> Iterator[Callable[[Trace, Any, Any], None]]:
    """A Parquet file of rows, from input ``first`` on: ``add(trace, truth, names)`` writes those of a trace, with the
    true classes and what the inputs are called, where that is known."""
    pa = import_arrow()
    kinds = {"input": pa.int64(), "length": pa.int64(), "probability": pa.float64(), "p_value": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])

    def add(trace: Trace, truth: Any, names: Any) -> None:
        nonlocal first
        writer.write_table(pa.Table.from_pylist(rows_of(trace, first, truth, names), schema))
        first += len(trace)

    # through a stream of our own: what the system says about a full disk is then heard as it is
    with (
        replacing(file) as beside,
        beside.open("wb") as stream,
        pa.parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        yield add
