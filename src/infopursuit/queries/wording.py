"""The wording of questions: read from a small file, put onto a query set; and the names of variables in those words."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.queries.patches import COLOURS, Patches
from infopursuit.queries.queryset import QuerySet, near
from infopursuit.types import FloatArray, Variables

MAX_BYTES, MAX_YAML_BYTES = 8 * 2**20, 2 * 2**20
"""A larger file is refused before it is read; of YAML a megabyte takes seconds."""
QUERY = ("query", "key", "column", "name")
"""What the column of the queries may be called in a CSV file."""
YAML, CSV = (".yaml", ".yml"), (".csv", ".tsv")


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
    known = {name: [index] for index, name in enumerate(queries.names)}
    for index, (topic, _) in enumerate(asked_about):
        if topic not in queries.names:
            known.setdefault(topic, []).append(index)
    words: dict[int, tuple[str, Sequence[str] | None]] = {}
    # Columns first, so that the wording of a single query has the last word.
    for key in sorted(wording, key=lambda key: key in queries.names):
        given = wording[key]
        entry = Wording(given) if isinstance(given, str) else given
        if key not in known:
            raise ValueError(f"{argument} names {key!r}, which is not asked about; {near(key, list(known))}")
        if len(known[key]) > 1 and entry.sentence is not None and "{}" not in entry.sentence:
            wrong = f"{argument}[{key!r}] is {entry.sentence!r}, which would word {len(known[key])} questions alike"
            raise ValueError(f"{wrong}; write {{}} where the threshold or category stands")
        whole = [queries.names[index] for index in known[key] if not asked_about[index][1]]
        if whole and entry.sentence is not None and "{}" in entry.sentence:
            wrong = f"{argument}[{key!r}] is {entry.sentence!r}, but {whole[0]!r} has no threshold or category for {{}}"
            raise ValueError(f"{wrong}; leave it out, or ask about numbers with columns(numbers='thresholds')")
        for index in known[key]:
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
    if (queries.query_variables[index] >= 0).sum() > 1:
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
    """The wording that a CSV or YAML file gives.

    CSV: a head line ``query,sentence,choices``, the last of which may be left out; choices read
    ``no = nein | yes = ja``. YAML: ``query: sentence``, or ``query:`` with ``sentence:`` and ``choices:`` below it.
    """
    fields = {"sentence": ("question", "wording"), "choices": ("answers",)}
    return {key: _wording(row, where) for key, (row, where) in read_rows(path, "wording", fields).items()}


def _wording(row: Mapping[str, Any], where: str) -> Wording:
    sentence, choices = row.get("sentence", ""), row.get("choices", "")
    choices = _pairs(choices, where) if isinstance(choices, str) else choices
    told = choices.values() if isinstance(choices, dict) else [choices]
    if not all(isinstance(text, str) for text in (sentence, *told)):
        raise ValueError(f"{where} has another form; expected 'sentence' with a text, and 'choices' as no: nein")
    return Wording(sentence or None, choices)


Row = tuple[dict[str, Any], str]
"""The fields of a key in a file, and where they stand."""


def read_rows(path: Any, what: str, fields: Mapping[str, Sequence[str]], *, or_json: bool = False) -> dict[str, Row]:
    """What a small file that somebody wrote by hand says of each key: texts, in YAML and JSON also lists and mappings.

    CSV: a head line with ``query`` and one field or more. YAML, and with ``or_json`` JSON: ``key: value`` for the first
    field, or fields below the key. fields: {field: what else it may be called}.
    """
    file = Path(path).expanduser()
    text, kind = read_text(file, (*YAML, *CSV, *([".json"] if or_json else [])), what), file.suffix.lower()
    known = {name: field for field, others in fields.items() for name in (field, *others)}
    read = _csv_rows if kind in CSV else _yaml_rows if kind in YAML else _json_rows
    rows: dict[str, Row] = {}
    for key, row, where in read(text, file, known):
        row = row if isinstance(row, dict) else {next(iter(fields)): row}
        strange = [name for name in row if name.lower() not in known]
        if not key:
            raise ValueError(f"{where} names no query")
        if key in rows:
            raise ValueError(f"{where} has {key!r:.80} a second time; leave one of the two out")
        if strange:
            raise ValueError(f"{where} has {strange[0]!r:.80}; expected {', '.join(fields)}")
        rows[key] = {known[name.lower()]: value for name, value in row.items()}, where
    return rows


def read_text(file: Path, endings: Sequence[str], what: str) -> str:
    """The text of a small file that somebody wrote by hand."""
    ending = file.suffix.lower()
    if ending not in endings:
        known = " or ".join(ending for ending in endings if ending not in (".yml", ".tsv"))
        raise ValueError(f"{what}={str(file)!r} ends in {ending!r}; give a {known} file")
    size, most = file.stat().st_size, MAX_YAML_BYTES if ending in YAML else MAX_BYTES
    if not file.is_file():  # who opens a pipe waits for ever
        raise ValueError(f"{file} is no file but a folder, a pipe or a device; give a {what} file")
    if size > most:
        raise ValueError(f"{file} has {size:,} bytes, more than {most:,}; is it a {what} file?")
    try:
        return file.read_bytes().decode("utf-8-sig")  # spreadsheets put a byte-order mark first
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None


def _csv_rows(text: str, file: Path, known: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    first = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max("\t,;", key=first.count), strict=True)
    try:
        head = [name.strip().lower() for name in next(reader, [])]
        at = next((head.index(name) for name in QUERY if name in head), None)
        if at is None or len(head) < 2 or any(name not in known for i, name in enumerate(head) if i != at):
            wanted = ", ".join(dict.fromkeys(known.values()))
            raise ValueError(f"{file} begins with {first.strip()!r:.80}; expected the columns query, {wanted}")
        for row in reader:
            cells = dict(zip(head, map(str.strip, row), strict=False))
            if any(cells.values()):
                yield cells.pop(head[at], ""), cells, f"line {reader.line_num} of {file}"
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of {file} is not CSV: {error}") from None


def _yaml_rows(text: str, file: Path, known: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    for key, node, where in entries(compose(text, file), file):
        if node.id == "scalar":
            yield key, scalar(node, where), where
        else:
            yield key, {name: _plain(value, place) for name, value, place in entries(node, file)}, where


def _plain(node: Any, where: str) -> Any:
    """A YAML node as lists, mappings and texts: "no" stays a word."""
    if node.id == "sequence":
        return [_plain(each, where) for each in node.value]
    if node.id == "mapping":
        return {scalar(key, where): _plain(value, where) for key, value in node.value}
    return scalar(node, where)


def _json_rows(text: str, file: Path, known: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{file} holds no mapping; write it as: {{query: {{cost: 5}}}}")
    yield from ((str(key), value, f"{key!r:.80} of {file}") for key, value in data.items())


def _pairs(text: str, where: str) -> dict[str, str]:
    """``no = nein | yes = ja`` as a mapping."""
    pairs: dict[str, str] = {}
    for part in filter(str.strip, text.split("|")):
        old, _, new = (side.strip() for side in part.partition("="))
        if not old or not new:
            raise ValueError(f"{where} has the choices {text!r:.80}; write them as: no = nein | yes = ja")
        pairs[old] = new
    return pairs


def compose(text: str, file: Path) -> Any:
    """YAML as nodes, not objects: nothing is built from tags, and "no" stays a word. Aliases are refused: a few of them
    stand for billions of entries."""
    try:
        import yaml
    except ImportError:
        raise ImportError(f"reading {file} needs pyyaml; pip install infopursuit[tables], or give a .csv") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"{file} is not YAML: {' '.join(str(error).split())[:300]}") from None
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            line = node.start_mark.line + 1
            raise ValueError(f"line {line} of {file} is used again with an alias (*name); write it out instead")
        seen.add(id(node))
        if node is not None and node.id != "scalar":
            waiting += [each for entry in node.value for each in (entry if node.id == "mapping" else (entry,))]
    return root


def entries(node: Any, file: Path) -> list[tuple[str, Any, str]]:
    """The keys and values of a YAML mapping, and where they stand."""
    if node is None:
        return []
    if node.id != "mapping":
        raise ValueError(f"line {node.start_mark.line + 1} of {file} is no mapping; write it as: query: sentence")
    places = [f"line {key.start_mark.line + 1} of {file}" for key, _ in node.value]
    return [(scalar(key, where), value, where) for (key, value), where in zip(node.value, places, strict=True)]


def scalar(node: Any, where: str) -> str:
    """The text of a YAML node."""
    if node.id != "scalar":
        raise ValueError(f"{where} has a list or mapping where a text is expected")
    return str(node.value).strip()


# ---- variables ------------------------------------------------------------------------------------------------------

NOUNS = {"columns": ("column", "columns"), "words": ("word", "words"), "patches": ("pixel", "pixels")}


class VariableWords:
    """Names for the variables of a query set, by the queries that ask about them; or numbers where there is none.

    >>> from infopursuit import queries
    >>> words = VariableWords(queries.patches((3, 3), size=2).variables, queries.patches((3, 3), size=2))
    >>> words.name(5), words.example(5, np.array([8.0, 2.0]), np.array([3.0, 7.0]))
    ('row 2, column 3', ('row 2, column 3: lit', 0.2, 0.7))
    """

    def __init__(self, variables: Variables, queries: QuerySet | None) -> None:
        self.variables, self.queries = variables, queries
        self.nouns = NOUNS.get("" if queries is None else queries.kind, ("question", "questions"))
        self._alone: dict[int, list[int]] = defaultdict(list)  # the queries that ask about one variable and no other
        if queries is not None:
            self._topics = queries.topics
            for query in np.flatnonzero((queries.query_variables >= 0).sum(axis=1) == 1).tolist():
                self._alone[int(queries.query_variables[query, 0])].append(query)

    def name(self, variable: int) -> str:
        """The name of a variable."""
        if self._alone[variable]:
            return self._topics[self._alone[variable][0]][0]
        if isinstance(self.queries, Patches):
            pixel, channel = divmod(variable, self.queries.channels)
            row, column = divmod(pixel, self.queries.shape[1])
            colour = "" if self.queries.channels == 1 else f", {COLOURS[channel]}"
            return f"row {row + 1}, column {column + 1}{colour}"
        return f"variable {variable}"

    def splits(self, variable: int) -> FloatArray | None:
        """(n, V) the values with "yes" of every question about the variable where all are yes/no, and those above each
        threshold of a number; else None."""
        alone = self._alone[variable]
        if not alone or self.queries is None or self.variables.sizes[variable] == 2:
            return None
        if self.queries.scale(alone[0]) is not None:
            values = np.arange(self.variables.sizes[variable])
            return (values > values[:-1, None]).astype(np.float64)
        cells = self.queries.query_cells[alone, 0, : self.variables.sizes[variable]]
        return cells.astype(np.float64) if cells.max() == 1 else None

    def example(self, variable: int, before: FloatArray, now: FloatArray) -> tuple[str, float, float]:
        """The answer whose share among the known ones changed most, and its shares before and now.

        before, now: (V,) counts of the variable's values. Of answers that changed alike, "yes" tells more than "no".
        """
        p, q = before / max(before.sum(), 1e-300), now / max(now.sum(), 1e-300)
        best, phrase, shares = -1.0, "", (0.0, 0.0)
        for query in self._alone[variable]:
            assert self.queries is not None
            if (scale := self.queries.scale(query)) is not None:
                old, new = (1 - each.cumsum()[:-1] for each in (p, q))  # above each threshold
                i = int(np.abs(new - old).round(12).argmax())
                above = f"{self.name(variable)} > {scale.write(scale.thresholds[i])}: yes"
                return above, float(old[i]), float(new[i])
            cells = self.queries.query_cells[query, 0, : len(p)]
            old, new = np.bincount(cells, weights=p), np.bincount(cells, weights=q)
            cell = len(old) - 1 - int(np.abs(new - old)[::-1].round(12).argmax())
            if abs(new[cell] - old[cell]) > best + 1e-12:
                best, shares = float(abs(new[cell] - old[cell])), (float(old[cell]), float(new[cell]))
                phrase = self.queries.say(query, (cell,))
        if best < 0:
            value = len(p) - 1 - int(np.abs(q - p)[::-1].round(12).argmax())
            binary = isinstance(self.queries, Patches) and self.queries.n_levels == 2
            what = ("dark", "lit")[value] if binary else f"value {value}"
            phrase, shares = f"{self.name(variable)}: {what}", (float(p[value]), float(q[value]))
        return phrase, *shares
