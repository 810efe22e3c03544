"""The wording of questions: read from a small file and put onto a query set."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infopursuit.queries.queryset import QuerySet, near

MAX_BYTES = 8 * 2**20
"""A larger file is refused before it is read."""
QUERY = ("query", "key", "column", "name")
"""What the column of the queries may be called in a CSV file."""


@dataclass(frozen=True)
class Wording:
    """How one question is asked. choices: {answer as it is called without wording: its new name}."""

    sentence: str | None = None
    choices: Mapping[str, str] = field(default_factory=dict)


def reword(queries: QuerySet, wording: Mapping[str, Wording | str], *, argument: str = "wording") -> QuerySet:
    """The same query set, asked in other words; queries that are not named keep theirs.

    A key is the name of a query, or that of a column, whose queries it then words all: ``{}`` in the sentence stands
    for the threshold or category.

    >>> from infopursuit.queries import concepts
    >>> qs = reword(concepts(["fur", "wings"]), {"fur": Wording("Hat es Fell?", {"no": "nein", "yes": "ja"})})
    >>> qs[0].sentence, qs[0].choices, qs.say(0, (1,)), qs[1].sentence
    ('Hat es Fell?', ('nein', 'ja'), 'Hat es Fell? ja', 'wings?')
    """
    asked_about = queries.topics
    words: dict[int, tuple[str, Sequence[str] | None]] = {}
    # Columns first, so that the wording of a single query has the last word.
    for key in sorted(wording, key=lambda key: key in queries.names):
        given = wording[key]
        entry = Wording(given) if isinstance(given, str) else given
        about = queries.find(key, argument)
        if len(about) > 1 and entry.sentence is not None and "{}" not in entry.sentence:
            wrong = f"{argument}[{key!r}] is {entry.sentence!r}, which would word {len(about)} questions alike"
            raise ValueError(f"{wrong}; write {{}} where the threshold or category stands")
        whole = [queries.names[index] for index in about if not asked_about[index][1]]
        if whole and entry.sentence is not None and "{}" in entry.sentence:
            wrong = f"{argument}[{key!r}] is {entry.sentence!r}, but {whole[0]!r} has no threshold or category for {{}}"
            raise ValueError(f"{wrong}; leave it out, or ask about numbers with columns(numbers='thresholds')")
        for index in about:
            sentence = queries.sentences[index] if entry.sentence is None else entry.sentence
            if key not in queries.names or asked_about[index][1]:
                sentence = sentence.replace("{}", asked_about[index][1])
            words[index] = (sentence, _choices(queries, index, entry.choices))
    return queries.with_words(words)


def _choices(queries: QuerySet, index: int, given: Mapping[str, str]) -> Sequence[str] | None:
    """All choices of a query with the given ones renamed; None where none is given."""
    if not given:
        return None
    query = queries.names[index]
    if len(queries.cell_counts(index)) > 1:
        raise ValueError(f"wording names choices of {query!r}, which reveals several things at once")
    old = list(queries.choices(index))
    place = {name.lower(): at for at, name in enumerate(old)} | {name: at for at, name in enumerate(old)}
    new = list(old)
    for name, said in given.items():
        at = place.get(name, place.get(name.lower()))
        if at is None:
            raise ValueError(f"wording names {name!r}, no answer to {query!r}; {near(name, old)}")
        new[at] = said
    if len(set(new)) < len(new):
        raise ValueError(f"wording calls two answers to {query!r} alike: {', '.join(new)}")
    return new


# ---- files ----------------------------------------------------------------------------------------------------------


def read_wording(path: Any) -> dict[str, Wording]:
    """The wording that a CSV file gives: a head line ``query,sentence,choices``, the last of which may be left out;
    choices read ``no = nein | yes = ja``."""
    rows = read_rows(path, "wording", {"sentence": ("question", "wording"), "choices": ("answers",)})
    return {
        key: Wording(row.get("sentence") or None, _pairs(row.get("choices", ""), where))
        for key, (row, where) in rows.items()
    }


def read_rows(path: Any, what: str, fields: Mapping[str, Sequence[str]]) -> dict[str, tuple[dict[str, str], str]]:
    """What a small CSV file that somebody wrote by hand says of each query, and where it says so.

    Its head line has ``query`` and one field or more. fields: {field: what else it may be called}.
    """
    file = Path(path).expanduser()
    text = _read_text(file, what)
    known = {name: field for field, others in fields.items() for name in (field, *others)}
    known |= dict.fromkeys(QUERY, QUERY[0])
    first = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max("\t,;", key=first.count), strict=True)
    rows: dict[str, tuple[dict[str, str], str]] = {}
    try:
        head = [known.get(name.strip().lower(), "") for name in next(reader, [])]
        if head.count(QUERY[0]) != 1 or len(head) < 2 or "" in head:
            raise ValueError(
                f"{file} begins with {first.strip()!r:.80}; expected the columns query, {', '.join(fields)}"
            )
        for row in reader:
            cells, where = dict(zip(head, map(str.strip, row), strict=False)), f"line {reader.line_num} of {file}"
            if any(cells.values()):
                key = cells.pop(QUERY[0], "")
                if not key or key in rows:
                    raise ValueError(f"{where} {f'has {key!r:.80} a second time' if key else 'names no query'}")
                rows[key] = cells, where
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of {file} is not CSV: {error}") from None
    return rows


def _read_text(file: Path, what: str) -> str:
    if file.suffix.lower() not in (".csv", ".tsv"):
        raise ValueError(f"{what}={str(file)!r} ends in {file.suffix!r}; give a .csv file")
    size = file.stat().st_size
    if not file.is_file():  # who opens a pipe waits for ever
        raise ValueError(f"{file} is no file but a folder, a pipe or a device; give a {what} file")
    if size > MAX_BYTES:
        raise ValueError(f"{file} has {size:,} bytes, more than {MAX_BYTES:,}; is it a {what} file?")
    try:
        return file.read_bytes().decode("utf-8-sig")  # spreadsheets put a byte-order mark first
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None


def _pairs(text: str, where: str) -> dict[str, str]:
    """``no = nein | yes = ja`` as a mapping."""
    pairs: dict[str, str] = {}
    for part in filter(str.strip, text.split("|")):
        old, _, new = (side.strip() for side in part.partition("="))
        if not old or not new:
            raise ValueError(f"{where} has the choices {text!r:.80}; write them as: no = nein | yes = ja")
        pairs[old] = new
    return pairs
