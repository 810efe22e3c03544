"""How questions are asked, in the words of those who are asked: read from a small file, put onto a query set."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infopursuit.queries.queryset import QuerySet
from infopursuit.types import DamagedModel

MOST_BYTES = 8 * 2**20
"""A wording file larger than this is refused before it is read."""
MOST_YAML = 2 * 2**20
"""The same for YAML, of which a megabyte takes seconds."""
QUERY, SENTENCE, CHOICES = (
    ("query", "key", "column", "name"),
    ("sentence", "question", "wording"),
    ("choices", "answers"),
)
"""What the columns of a CSV file, and the keys of a YAML file, may be called."""
YAML, CSV = (".yaml", ".yml"), (".csv", ".tsv")


@dataclass(frozen=True)
class Wording:
    """How one question is asked. choices: for an answer as it is called without wording, what to call it instead."""

    sentence: str | None = None
    choices: Mapping[str, str] = field(default_factory=dict)


def reword(queries: QuerySet, wording: Mapping[str, Wording | str]) -> QuerySet:
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
    # columns first, so that what is said of a single query has the last word
    for key in sorted(wording, key=lambda key: key in queries.names):
        entry = wording[key]
        entry = Wording(entry) if isinstance(entry, str) else entry
        if key not in known:
            raise ValueError(f"wording names {key!r}, which is not asked about; {near(key, list(known))}")
        if len(known[key]) > 1 and entry.sentence is not None and "{}" not in entry.sentence:
            raise ValueError(
                f"wording of {key!r} is {entry.sentence!r}, which would word {len(known[key])} questions alike; write "
                f"{{}} where the threshold or category stands"
            )
        for index in known[key]:
            sentence = queries.sentences[index] if entry.sentence is None else entry.sentence
            if key not in queries.names or asked_about[index][1]:
                sentence = sentence.replace("{}", asked_about[index][1])
            words[index] = (sentence, _choices(queries, index, entry.choices))
    return queries.with_words(words)


def read_wording(path: Any) -> dict[str, Wording]:
    """The wording that a CSV or YAML file gives.

    CSV: a head line ``query,sentence,choices``, the last of which may be left out; choices read
    ``no = nein | yes = ja``. YAML: ``query: sentence``, or ``query:`` with ``sentence:`` and ``choices:`` below it.
    """
    file = Path(path).expanduser()
    text = read_text(file, (*YAML, *CSV), "wording")
    return _from_yaml(text, file) if file.suffix.lower() in YAML else _from_csv(text, file)


def read_text(file: Path, endings: Sequence[str], what: str) -> str:
    """The text of a small file that somebody wrote by hand."""
    if file.suffix.lower() not in endings:
        known = " or ".join(ending for ending in endings if ending not in (".yml", ".tsv"))
        raise ValueError(f"{what}={str(file)!r} ends in {file.suffix.lower()!r}; give a {known} file")
    size, most = file.stat().st_size, MOST_YAML if file.suffix.lower() in YAML else MOST_BYTES
    if not file.is_file():  # who opens a pipe waits for ever
        raise ValueError(f"{file} is no file but a folder, a pipe or a device; give a {what} file")
    if size > most:
        raise ValueError(f"{file} has {size:,} bytes, more than {most:,}; is it a {what} file?")
    try:
        return file.read_bytes().decode("utf-8-sig")  # spreadsheets put a byte-order mark first
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None


# ---- saved with a query set -----------------------------------------------------------------------------------------


def words_to_spec(queries: QuerySet) -> dict[str, Any]:
    """The words that somebody gave to queries, if to any, as JSON data; several atoms at once have no names for their
    answers."""
    words = {
        queries.names[q]: {
            "sentence": queries.sentences[q],
            "choices": list(queries.choices(q)) if (queries.query_atoms[q] >= 0).sum() == 1 else [],
        }
        for q in sorted(queries.worded)
    }
    return {"wording": words} if words else {}


def words_from_spec(queries: QuerySet, spec: Mapping[str, Any]) -> QuerySet:
    """The queries in the words that somebody gave them."""
    words = {}
    for name, entry in spec.items():
        sentence, choices = entry["sentence"], entry["choices"]
        if not isinstance(sentence, str) or not isinstance(choices, list) or not all(type(c) is str for c in choices):
            raise DamagedModel(f"the wording of {name!r} is not a sentence and a list of choices")
        words[queries.names.index(name)] = (sentence, choices or None)
    return queries.with_words(words) if words else queries


# ---- CSV ------------------------------------------------------------------------------------------------------------


def _from_csv(text: str, file: Path) -> dict[str, Wording]:
    first = text.split("\n", 1)[0]
    separator = max("\t,;", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    found: dict[str, Wording] = {}
    try:
        head = [name.strip().lower() for name in next(reader, [])]
        places = [
            next((head.index(name) for name in names if name in head), None) for names in (QUERY, SENTENCE, CHOICES)
        ]
        query, sentence, choices = places
        if query is None or (sentence is None and choices is None):
            begin = first.strip()
            raise ValueError(f"{file} begins with {begin!r:.80}; expected the columns query, sentence and choices")
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            cells = [row[at].strip() if at is not None and at < len(row) else "" for at in (query, sentence, choices)]
            where = f"line {reader.line_num} of {file}"
            _enter(found, cells[0], Wording(cells[1] or None, _pairs(cells[2], where)), where)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of {file} is not CSV: {error}") from None
    return found


def _pairs(text: str, where: str) -> dict[str, str]:
    """``no = nein | yes = ja`` as a mapping."""
    pairs: dict[str, str] = {}
    for part in filter(str.strip, text.split("|")):
        old, equals, new = part.partition("=")
        if not equals or not old.strip() or not new.strip():
            raise ValueError(f"{where} has the choices {text!r:.80}; write them as: no = nein | yes = ja")
        pairs[old.strip()] = new.strip()
    return pairs


# ---- YAML -----------------------------------------------------------------------------------------------------------


def compose(text: str, file: Path) -> Any:
    """YAML as nodes, not objects: nothing is built from tags, and "no" stays a word."""
    try:
        import yaml
    except ImportError:
        raise ImportError(f"reading {file} needs pyyaml; pip install infopursuit[tables], or give a .csv") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"{file} is not YAML: {' '.join(str(error).split())[:300]}") from None
    _refuse_aliases(root, file)
    return root


def _refuse_aliases(root: Any, file: Path) -> None:
    """A few aliases of aliases stand for billions of entries, and one of itself for ever more."""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            line = node.start_mark.line + 1
            raise ValueError(f"line {line} of {file} is used again with an alias (*name); write it out instead")
        seen.add(id(node))
        if node is not None and node.id != "scalar":
            waiting += [each for entry in node.value for each in (entry if node.id == "mapping" else (entry,))]


def _from_yaml(text: str, file: Path) -> dict[str, Wording]:
    root = compose(text, file)
    import yaml

    found: dict[str, Wording] = {}
    for key, node, where in entries(root, file):
        if isinstance(node, yaml.ScalarNode):
            _enter(found, key, Wording(node.value.strip() or None), where)
            continue
        sentence, choices = None, {}
        for name, value, place in entries(node, file):
            if name.lower() in SENTENCE and isinstance(value, yaml.ScalarNode):
                sentence = value.value.strip() or None
            elif name.lower() in CHOICES and isinstance(value, yaml.ScalarNode):
                choices = _pairs(value.value, place)
            elif name.lower() in CHOICES:
                choices = {old: scalar(new, at) for old, new, at in entries(value, file)}
            else:
                raise ValueError(f"{place} has {name!r}; expected 'sentence' with a text, and 'choices' as no: nein")
        _enter(found, key, Wording(sentence, choices), where)
    return found


def entries(node: Any, file: Path) -> list[tuple[str, Any, str]]:
    """The keys and values of a YAML mapping, and where they stand."""
    if node is None:
        return []
    if node.id != "mapping":
        raise ValueError(f"line {node.start_mark.line + 1} of {file} is no mapping; write it as: query: sentence")
    entries = []
    for key, value in node.value:
        where = f"line {key.start_mark.line + 1} of {file}"
        entries.append((scalar(key, where), value, where))
    return entries


def scalar(node: Any, where: str) -> str:
    """The text of a YAML node."""
    if node.id != "scalar":
        raise ValueError(f"{where} has a list or mapping where a text is expected")
    return str(node.value).strip()


# ---- checks ---------------------------------------------------------------------------------------------------------


def _enter(found: dict[str, Wording], key: str, wording: Wording, where: str) -> None:
    if not key:
        raise ValueError(f"{where} names no query")
    if key in found:
        raise ValueError(f"{where} words {key!r} a second time; leave one of the two out")
    found[key] = wording


def _choices(queries: QuerySet, index: int, given: Mapping[str, str]) -> Sequence[str] | None:
    """All choices of a query with the given ones called otherwise; None where none is given."""
    if not given:
        return None
    if queries.n_cells[index][queries.query_atoms[index] >= 0].size > 1:
        raise ValueError(f"wording names choices of {queries.names[index]!r}, which reveals several things at once")
    old = list(queries.choices(index))
    place = {name.lower(): at for at, name in enumerate(old)} | {name: at for at, name in enumerate(old)}
    new = list(old)
    for name, said in given.items():
        at = place.get(name, place.get(name.lower()))
        if at is None:
            raise ValueError(f"wording names {name!r}, no answer to {queries.names[index]!r}; {near(name, old)}")
        new[at] = said
    if len(set(new)) < len(new):
        raise ValueError(f"wording calls two answers to {queries.names[index]!r} alike: {', '.join(new)}")
    return new


def near(name: str, known: Sequence[str]) -> str:
    """What somebody may have meant by a name that is not known, or what names there are."""
    lowered = {entry.lower(): entry for entry in known}
    near = [lowered[entry] for entry in difflib.get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.5)]
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"there are {', '.join(map(repr, known[:8]))}" + (f" and {len(known) - 8} more" if len(known) > 8 else "")
