"""RESULTS.md and docs/results/: what is measured stands between two marks, written there from the files of results."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.evaluation.measures import Row, Z
from infopursuit.support.files import write_atomically

# one that is not closed ends nowhere: it must not take the text up to the end of the next one with it
_SECTION = re.compile(
    r"<!-- measured: (?P<name>[\w-]+)(?:, (?P<table>[^\n]+?))? -->\r?\n(?:(?!<!-- measured: ).)*?<!-- end -->",
    re.DOTALL,
)


def update_page(page: Path, folder: Path) -> list[str]:
    """Write every measured section of a page, or of all pages in a folder, anew; returns the names of the experiments.

    A section stands between ``<!-- measured: NAME -->`` and ``<!-- end -->``; one whose file is missing in ``folder``
    is left. ``<!-- measured: NAME, TABLE -->`` takes one table of the experiment.
    """
    if page.is_dir():
        return [name for each in sorted(page.glob("*.md")) for name in update_page(each, folder)]
    names: list[str] = []
    before = page.read_bytes().decode()  # as it is: reading text would change ends of lines
    after = measured(before, page.parent, folder, names)
    if after != before:
        write_atomically(page, after.encode())
    return names


def measured(text: str, place: Path, folder: Path, names: list[str] | None = None) -> str:
    """The text of a page in the folder ``place`` with its sections anew; appends the experiments to ``names``."""
    pictures = Path(os.path.relpath(folder, place)).as_posix()

    def anew(match: re.Match[str]) -> str:
        file = folder / f"{match['name']}.json"
        if not file.is_file():
            return match[0]
        if names is not None:
            names.append(match["name"])
        first = match[0].splitlines()[0]
        return f"{first}\n{section(json.loads(file.read_text()), pictures, match['table'])}\n<!-- end -->"

    return _SECTION.sub(anew, text)


def section(result: Mapping[str, Any], pictures: str, only: str | None = None) -> str:
    """One experiment: the command and the machine, its tables, its pictures.

    pictures: their folder as the page has to name it. only: the title of the one table that is wanted.
    """
    machine = result["machine"]
    where = f"{machine['processor']}, {machine['cores']} cores"
    data = (
        "INFOPURSUIT_DATA=... " if re.search(r"reproduce |\.tables|\.networks", result["command"]) else ""
    )  # what else is measured needs none
    head = (
        f"`{data}{result['command']}` ({machine['when']}, commit {machine['commit']}, {where}, "
        f"seed {result['seed']}, {_duration(result['seconds'])})"
    )
    if only is not None:
        return f"{head}\n\n{plain_table(result['tables'][only])}"
    parts = [head]
    if result.get("rows"):
        parts.append(markdown(result["rows"]))
    if result.get("differences"):
        parts.append(markdown_differences(result["differences"]))
    for title, table in (result.get("tables") or {}).items():
        parts.append(f"{title}\n\n{plain_table(table)}")
    for figure in result.get("figures") or []:
        parts.append(f"![{figure['about']}]({pictures}/{figure['file']})")
    return "\n\n".join(parts)


def plain_table(table: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same keys as a table of a Markdown page; numbers as they are."""
    names = list(table[0])
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join('---' for _ in names)} |"]
    lines += [f"| {' | '.join(_cell(row[name]) for name in names)} |" for row in table]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def quoted(name: str, accuracy: float, length: float | None = None, note: str = "as the paper has it") -> Row:
    """A row that was not measured here."""
    return Row(name, accuracy, length=length, note=note)


def markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows, as JSON has them, as a table of a Markdown page."""
    lines = ["| | right, % (95 % interval) | questions | inputs | |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        length = "all" if row["n_inputs"] is not None else ""
        if row["length"] is not None:
            error = row.get("length_error")
            length = f"{row['length']:.2f}" + (f" ± {Z * error:.2f}" if error is not None else "")
        n = "" if row["n_inputs"] is None else f"{row['n_inputs']:,}"
        lines.append(f"| {row['name']} | {share(row)} | {length} | {n} | {row['note']} |")
    return "\n".join(lines)


def markdown_differences(rows: Iterable[Mapping[str, Any]]) -> str:
    """Differences, as JSON has them, as a table of a Markdown page."""
    lines = ["| difference on the same inputs | points (95 % interval) | inputs |", "| --- | --- | --- |"]
    for row in rows:
        interval = f"{100 * row['mean']:+.2f} ({100 * row['low']:+.2f} to {100 * row['high']:+.2f})"
        lines.append(f"| {row['what']} | {interval} | {row['n_inputs']:,} |")
    return "\n".join(lines)


def share(row: Mapping[str, Any]) -> str:
    """An accuracy with its interval, in per cent."""
    text = f"{100 * row['accuracy']:.2f}"
    return text if row["low"] is None else f"{text} ({100 * row['low']:.2f} to {100 * row['high']:.2f})"
