"""Explanations as rows of a file: Parquet, or JSON lines where pyarrow is missing; whole, or the old one stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infopursuit.explanation import Explanation
from infopursuit.files import replacing
from infopursuit.trace import Trace

NAME = "traces"


def row_of(explanation: Explanation, number: int, truth: Any = None) -> dict[str, Any]:
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
    return {
        "input": number,
        "prediction": str(explanation.prediction),
        "probability": explanation.confidence,
        "label": None if truth is None else str(truth),
        "length": len(explanation),
        "stopped_because": explanation.stopped_because,
        "steps": json.dumps(steps, ensure_ascii=False, allow_nan=False),
    }


class TraceFile:
    """Where rows are written to, a trace at a time."""

    def __init__(self, path: Path, writer: Any) -> None:
        self.path, self.n_rows, self._writer = path, 0, writer

    def add(self, trace: Trace, truth: Any = None) -> None:
        """Write the rows of a trace."""
        rows = [
            row_of(explanation, self.n_rows + i, None if truth is None else truth[i])
            for i, explanation in enumerate(trace)
        ]
        self._writer(rows)
        self.n_rows += len(rows)


@contextmanager
def trace_file(folder: Path) -> Iterator[TraceFile]:
    """``traces.parquet`` in a folder, or ``traces.jsonl`` where pyarrow is missing; whole, or not there at all."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        file = folder / f"{NAME}.jsonl"
        with replacing(file) as beside, beside.open("w", encoding="utf-8") as stream:
            yield TraceFile(
                file, lambda rows: stream.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
            )
        return
    texts = ("prediction", "label", "stopped_because", "steps")
    kinds = {"input": pa.int64(), "probability": pa.float64(), "length": pa.int64()} | dict.fromkeys(texts, pa.string())
    order = ("input", "prediction", "probability", "label", "length", "stopped_because", "steps")
    schema = pa.schema([(name, kinds[name]) for name in order])
    file = folder / f"{NAME}.parquet"
    with replacing(file) as beside, pq.ParquetWriter(beside, schema) as writer:
        yield TraceFile(file, lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema)))
