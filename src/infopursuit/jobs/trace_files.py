"""Explanations as rows of a Parquet file: whole, or not there at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infopursuit.datasets.tables import import_arrow
from infopursuit.explanation import Explanation
from infopursuit.files import replacing
from infopursuit.trace import Trace

TRACES = "traces.parquet"
"""What the folder of traces is called."""
COLUMNS = ("input", "name", "prediction", "probability", "label", "p_value", "length", "stop_reason", "steps")


def row_of(
    explanation: Explanation, number: int, truth: Any = None, name: str | None = None, p_value: float | None = None
) -> dict[str, Any]:
    """One input as a row: what came out, and the questions and answers, in the user's words, as JSON."""
    steps = [
        {
            "query": step.name,
            "question": step.sentence,
            "answer": None if step.answer is None else step.said,
            "gain": None if step.gain != step.gain else step.gain,
            "prediction": str(explanation.classes[max(range(len(step.posterior)), key=step.posterior.__getitem__)]),
            "probability": max(step.posterior),
        }
        for step in explanation.steps
    ]
    told = [number, name, str(explanation.prediction), explanation.confidence, None if truth is None else str(truth)]
    told += [p_value, len(explanation), explanation.stop_reason, json.dumps(steps, ensure_ascii=False, allow_nan=False)]
    return dict(zip(COLUMNS, told, strict=True))


class TraceFile:
    """Where rows are written to, a trace at a time. first: the number of the first input."""

    def __init__(self, writer: Any, first: int) -> None:
        self.n_rows, self._writer, self._first = 0, writer, first

    def add(self, trace: Trace, truth: Any = None, names: Sequence[str] | None = None) -> None:
        """Write the rows of a trace; with the true classes and what the inputs are called, where that is known."""
        number, nothing = self._first + self.n_rows, [None] * len(trace)
        p_values = nothing if trace.p_values is None else trace.p_values.tolist()
        told = zip(trace, nothing if truth is None else truth, names or nothing, p_values, strict=True)
        rows = [row_of(explanation, number + i, *facts) for i, (explanation, *facts) in enumerate(told)]
        self._writer(rows)
        self.n_rows += len(rows)


@contextmanager
def trace_file(file: Path, first: int = 0) -> Iterator[TraceFile]:
    """A Parquet file of rows."""
    pa = import_arrow()
    kinds = {"input": pa.int64(), "length": pa.int64(), "probability": pa.float64(), "p_value": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    # through a stream of our own: what the system says about a full disk is then heard as it is
    with (
        replacing(file) as beside,
        beside.open("wb") as stream,
        pa.parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        yield TraceFile(lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema)), first)
