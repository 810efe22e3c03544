"""Terms in a file that people write by hand: a line for each question, its cost, what it requires, its group."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infopursuit.costs import Constraints, Costs
from infopursuit.queries.wording import CSV, YAML, compose, entries, read_text, scalar

JSON = (".json",)
QUERY = ("query", "key", "column", "name")
FIELDS = ("cost", "requires", "forbidden", "group")
YES, NO = ("yes", "true", "x", "1"), ("", "no", "false", "0")


@dataclass(frozen=True)
class TermsFile:
    """What a file says: costs, constraints, and which queries are asked together."""

    costs: Costs = field(default_factory=Costs)
    constraints: Constraints = field(default_factory=Constraints)
    groups: dict[str, list[str]] = field(default_factory=dict)


def read_terms(path: Any) -> TermsFile:
    """The terms that a CSV, YAML or JSON file gives.

    A key is a query, a column for all queries about it, or a group. CSV: a head line
    ``query,cost,requires,forbidden,group`` of which all but the first and one more may be left out. YAML and JSON:
    ``query: 5`` for its cost, or ``query:`` with ``cost:``, ``requires:``, ``forbidden:`` and ``group:`` below it. What
    is required reads ``sex = female``; ``ultrasound`` alone: once it was asked; ``a = yes & b = round | oval``: both,
    and of several answers one. A group's cost is that of its own line, else the sum of its members'. A column that
    is its own group is asked as one: what it is, not whether it is above one threshold and then another.
    """
    file = Path(path).expanduser()
    text = read_text(file, (*YAML, *CSV, *JSON), "terms")
    if file.suffix.lower() in CSV:
        rows = _from_csv(text, file)
    else:
        rows = _from_yaml(text, file) if file.suffix.lower() in YAML else _from_json(text, file)
    return _made(rows, file)


def _made(rows: Mapping[str, Mapping[str, Any]], file: Path) -> TermsFile:
    groups: dict[str, list[str]] = {}
    for key, row in rows.items():
        name = str(row.get("group", "") or "").strip()
        if name:
            groups.setdefault(name, []).append(key)
    costs: dict[str, float] = {}
    requires: dict[str, list[Any]] = {}
    forbidden: list[str] = []
    for key, row in rows.items():
        where = f"{key!r:.80} in {file}"
        cost = _cost(row.get("cost"), where)
        needed, never = _requires(row.get("requires"), where), _forbidden(row.get("forbidden"), where)
        inside = str(row.get("group", "") or "").strip()
        if inside and inside != key:
            if needed or never:
                raise ValueError(
                    f"{where} is asked with its group {inside!r} only; write what it requires, or that it is "
                    f"forbidden, into a line of the group"
                )
            if cost is not None and _cost(rows.get(inside, {}).get("cost"), where) is None:
                costs[inside] = costs.get(inside, 0.0) + cost
            continue
        if cost is not None:
            costs[key] = cost
        if needed:
            requires[key] = needed
        if never:
            forbidden.append(key)
    return TermsFile(Costs(costs or None), Constraints(requires, forbidden), groups)


# ---- cells ----------------------------------------------------------------------------------------------------------


def _cost(value: Any, where: str) -> float | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        cost = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"the cost of {where} is {value!r:.80}; expected a number of 0 or more") from None
    if not 0 <= cost < float("inf") or isinstance(value, bool):
        raise ValueError(f"the cost of {where} is {value!r}; expected a number of 0 or more")
    return cost


def _forbidden(value: Any, where: str) -> bool:
    said = str(value if value is not None else "").strip().lower()
    if said not in (*YES, *NO):
        raise ValueError(f"forbidden of {where} is {value!r:.80}; expected yes or no")
    return said in YES


def _requires(value: Any, where: str) -> list[Any]:
    """``a = yes & b = round | oval`` as conditions of `Constraints`; a list of such texts, or {a: yes}."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [(str(other), choices) for other, choices in value.items()]
    found: list[Any] = []
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str):
            raise ValueError(f"{where} requires {text!r:.80}; write it as: sex = female")
        for part in filter(str.strip, text.split("&")):
            other, equals, choices = part.rpartition("=")
            if not equals:
                found.append(part.strip())
                continue
            several = [choice.strip() for choice in choices.split("|") if choice.strip()]
            if not other.strip() or not several:
                raise ValueError(f"{where} requires {part.strip()!r:.80}; write it as: sex = female")
            found.append((other.strip(), several))
    return found


# ---- files ----------------------------------------------------------------------------------------------------------


def _from_csv(text: str, file: Path) -> dict[str, dict[str, Any]]:
    first = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max("\t,;", key=first.count), strict=True)
    rows: dict[str, dict[str, Any]] = {}
    try:
        head = [name.strip().lower() for name in next(reader, [])]
        key_at = next((head.index(name) for name in QUERY if name in head), None)
        strange = [name for i, name in enumerate(head) if i != key_at and name not in FIELDS]
        if key_at is None or strange or len(head) < 2:
            begin = first.strip()
            raise ValueError(f"{file} begins with {begin!r:.80}; expected the columns query, {', '.join(FIELDS)}")
        for row in reader:
            if any(cell.strip() for cell in row):
                cells = {name: row[i].strip() for i, name in enumerate(head) if i < len(row)}
                key = row[key_at].strip() if key_at < len(row) else ""
                _enter(rows, key, cells, f"line {reader.line_num} of {file}")
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of {file} is not CSV: {error}") from None
    return rows


def _from_yaml(text: str, file: Path) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for key, node, where in entries(compose(text, file), file):
        fields = {"cost": node.value} if node.id == "scalar" else {n: _plain(v, p) for n, v, p in entries(node, file)}
        _enter(rows, key, fields, where)
    return rows


def _plain(node: Any, where: str) -> Any:
    """A YAML node as lists, mappings and texts: "no" stays a word."""
    if node.id == "sequence":
        return [_plain(each, where) for each in node.value]
    if node.id == "mapping":
        return {scalar(key, where): _plain(value, where) for key, value in node.value}
    return scalar(node, where)


def _from_json(text: str, file: Path) -> dict[str, dict[str, Any]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{file} holds no mapping; write it as: {{query: {{cost: 5}}}}")
    rows: dict[str, dict[str, Any]] = {}
    for key, value in data.items():
        _enter(rows, str(key), value if isinstance(value, dict) else {"cost": value}, f"{key!r:.80} of {file}")
    return rows


def _enter(rows: dict[str, dict[str, Any]], key: str, fields: dict[str, Any], where: str) -> None:
    if not key:
        raise ValueError(f"{where} names no query")
    if key in rows:
        raise ValueError(f"{where} has {key!r:.80} a second time; leave one of the two out")
    strange = [name for name in fields if name.lower() not in (*FIELDS, *QUERY)]
    if strange:
        raise ValueError(f"{where} has {strange[0]!r:.80}; expected {', '.join(FIELDS)}")
    rows[key] = {name.lower(): value for name, value in fields.items()}
