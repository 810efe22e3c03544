"""Findings of the data checks, and the report that holds them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np

FORMAT = "infopursuit.lint/2"

Severity = Literal["serious", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
HEADINGS = ("Serious", "Warnings", "Notes")

Kind = Literal[
    "leak",
    "pair leak",
    "class leak",
    "identifier",
    "informative missingness",
    "class-level rows",
    "duplicate rows",
    "conflicting labels",
    "insufficient queries",
    "insufficient model",
    "mostly missing",
    "constant",
    "uninformative",
    "redundant",
    "nearly redundant",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In the order of the report, within a severity."""


@dataclass(frozen=True)
class Finding:
    """One fault: what it is, its evidence in words and as numbers, the names of the queries concerned, what to do."""

    kind: Kind
    severity: Severity
    sentence: str
    remedy: str
    queries: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LintReport:
    """All findings, most severe first; ``str`` gives the text.

    rows, queries, classes: how many there are. notes: sentences on what the findings rest on. measured: the numbers
    behind these, as JSON data. source: the name of the data.
    """

    findings: tuple[Finding, ...]
    rows: int
    queries: int
    classes: int
    notes: tuple[str, ...] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    @property
    def serious(self) -> bool:
        """Whether any finding is serious."""
        return any(finding.severity == "serious" for finding in self.findings)

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind, such as "leak"."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def to_json(self) -> str:
        """The whole report as JSON."""
        data = {"format": FORMAT, "serious": self.serious, **asdict(self)}
        return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1, default=np.generic.item)

    def text(self, width: int = 79) -> str:
        """The report in lines of at most ``width`` columns."""
        lines = _wrap(self._summary(), width)
        number = 0
        for severity, heading in zip(SEVERITIES, HEADINGS, strict=True):
            some = [finding for finding in self.findings if finding.severity == severity]
            lines += ["", f"── {heading} ".ljust(width, "─")] if some else []
            for finding in some:
                number += 1
                lines += [] if finding is some[0] else [""]
                lines.append(f"{number:2}. {finding.kind.capitalize()}")
                lines += _wrap(finding.sentence, width, "    ") + _wrap(f"> {finding.remedy}", width, "    ", "      ")
        if self.notes:
            lines += ["", "── Method ".ljust(width, "─"), *(line for note in self.notes for line in _wrap(note, width))]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _summary(self) -> str:
        sizes = f"{count(self.rows, 'row')}, {count(self.classes, 'label')}, {count(self.queries, 'query', 'queries')}"
        numbers = [sum(f.severity == severity for f in self.findings) for severity in SEVERITIES]
        found = [f"{numbers[0]} serious" if numbers[0] else "Nothing serious"]
        found += [count(n, name) for n, name in zip(numbers[1:], SEVERITIES[1:], strict=True) if n]
        source = f"{self.source}: " if self.source else ""
        return f"{source}{sizes}. {', '.join(found) if self.findings else 'Nothing was found'}."


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings sorted by severity, then by kind."""
    return tuple(sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), KINDS.index(f.kind))))


def quoted(name: Any, longest: int = 60) -> str:
    """A name in quotation marks, cut to one line."""
    text = str(name)
    return f'"{text}"' if len(text) <= longest else f'"{text[: longest - 1]}…"'


def listed(names: Sequence[str], most: int = 4) -> str:
    """Some names, and how many more there are.

    >>> listed(["a", "b", "c"], most=2), listed(["a", "b", "c"]), listed(["a"])
    ('"a", "b" and 1 more', '"a", "b" and "c"', '"a"')
    """
    shown = [quoted(name) for name in names[:most]]
    if len(names) > most:
        shown, last = [", ".join(shown)], f"{len(names) - most:,} more"
    else:
        last = shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def percent(share: float) -> str:
    """A share with one digit; never 100 % or 0 % of what is not all or none.

    >>> percent(1.0), percent(0.99996), percent(0.5), percent(0.0001)
    ('100 %', 'over 99.9 %', '50.0 %', 'under 0.1 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return "over 99.9 %" if share > 0.9995 else "under 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"


def count(number: int, what: str, many: str | None = None) -> str:
    """A number and what it counts.

    >>> count(1, "query", "queries"), count(1200, "row")
    ('1 query', '1,200 rows')
    """
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def _wrap(text: str, width: int, first: str = "", following: str | None = None) -> list[str]:
    together = text.replace(" %", "\u00a0%")  # a number and its sign stay on one line
    rest = first if following is None else following
    lines = textwrap.wrap(together, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]
