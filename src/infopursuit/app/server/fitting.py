"""Tables that visitors upload: fitted in a process of its own, one at a time, and kept in memory for an hour."""

from __future__ import annotations

import asyncio
import csv
import io
import secrets
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachetools import TTLCache

from infopursuit.app.server.errors import Problem, invalid
from infopursuit.app.server.registry import ServedModel, load_folder

if TYPE_CHECKING:
    from infopursuit.app.server.schemas import FitRequest

MAX_BYTES, MAX_ROWS, MAX_COLUMNS = 5 * 2**20, 5_000, 60
MAX_MODELS, KEPT = 8, 3600.0
TIME_LIMIT = 120.0
MAX_TOLD = 4000  # characters of what `fit` says
PATH, POOL = "/v1/fit", "uploads"


class Uploads:
    """The models of uploaded tables. Their names cannot be guessed, and are neither listed nor logged."""

    def __init__(self) -> None:
        self.models: TTLCache[str, ServedModel] = TTLCache(MAX_MODELS, KEPT)
        self._busy = asyncio.Lock()

    async def fit(self, request: FitRequest) -> tuple[ServedModel, str]:
        """The model of a table, and what `infopursuit fit` says of it."""
        header = check_table(request.table)
        if request.label not in header:
            remedy = f"the columns are {', '.join(header[:8])}{', ...' if len(header) > 8 else ''}"
            raise invalid("the table has no such column", "label", request.label, remedy)
        if self._busy.locked():
            raise Problem(503, "another table is being fitted", remedy="try again in a minute", retry_after=30)
        async with self._busy:
            with tempfile.TemporaryDirectory(prefix="infopursuit-") as folder:
                told = await _fit(Path(folder), request.table, request.label, "\t" in request.table.split("\n", 1)[0])
                model = await asyncio.to_thread(load_folder, f"table-{secrets.token_hex(12)}", Path(folder) / "model")
        self.models[model.name] = model
        return model, told


def check_table(text: str) -> list[str]:
    """The header of a table; `Problem` where it is too large, or none."""
    delimiter = "\t" if "\t" in text.split("\n", 1)[0] else ","
    try:
        rows = csv.reader(io.StringIO(text), delimiter=delimiter)
        header, n_rows = next(rows, []), sum(1 for _ in rows)
    except csv.Error as error:
        raise invalid(f"not a table: {error}", "table", text, "send CSV or TSV with a header") from None
    if "\0" in text or not 2 <= len(header) <= MAX_COLUMNS or not 2 <= n_rows <= MAX_ROWS:
        title = f"a table has 2 to {MAX_COLUMNS} columns and 2 to {MAX_ROWS} rows below a header"
        raise invalid(title, "table", f"{len(header)} columns, {n_rows} rows", "send CSV or TSV of that size")
    return header


async def _fit(folder: Path, table: str, label: str, tabs: bool) -> str:
    """`infopursuit fit` on a table, in a process that is ended when its time is up."""
    file = folder / f"table.{'tsv' if tabs else 'csv'}"
    await asyncio.to_thread(file.write_text, table, encoding="utf-8")
    program: list[Any] = [sys.executable, "-m", "infopursuit", "fit", file, f"--label={label}"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*program, "--out", folder / "model", stdout=pipe, stderr=pipe)
    try:
        out, wrong = await asyncio.wait_for(process.communicate(), TIME_LIMIT)
    except TimeoutError:
        raise Problem(504, f"fitting took longer than {TIME_LIMIT:g} s", remedy="send fewer rows or columns") from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        lines = wrong.decode(errors="replace").replace(str(file), "the table").strip().splitlines() or ["it failed"]
        remedy = "correct the table, or choose another column"
        raise invalid(f"the table could not be fitted: {lines[-1][:500]}", "table", f"{len(table)} characters", remedy)
    return out.decode(errors="replace").replace(str(file), "the table").replace(str(folder), "")[:MAX_TOLD]
