"""Findings of the data checks, and the report that holds them."""

from __future__ import annotations

import json
import string
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from infopursuit.explanation import count, percent

FORMAT = "infopursuit.lint/4"

Severity = Literal["serious", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
HEADINGS = ("Serious", "Warnings", "Notes")

Kind = Literal[
    "leak",
    "identifier",
    "informative missingness",
    "class-level rows",
    "duplicate rows",
    "conflicting labels",
    "mostly missing",
    "constant",
    "redundant",
    "imbalance",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In the order of the report, within a severity."""


TEXTS: Mapping[str, tuple[str, ...]] = {
    "leak": (
        "Features that leak the label, each alone: {features}. The first is right in {accuracy:%} of {rows} rows; the "
        "most frequent label is right in {most_frequent:%}.",
        "A baseline on all other features is right in {others:%} of held-out rows.",
        "Find out when this is recorded. Leave out what is known only after the label, or because of it; until then no "
        "accuracy on this table means anything.",
    ),
    "identifier": (
        "Features that differ from row to row, as names and row numbers do: {features}.",
        "Columns that identify the rows are not asked about: {columns}.",
        "Leave them out: on new rows they tell nothing, and where rows are sorted by label they leak it.",
    ),
    "informative missingness": (
        "Whether {feature} is known depends on the label: it is missing in {high:%} of the rows of {most} and in "
        "{low:%} of those of {least}. Missingness alone predicts the label in {accuracy:%} of the rows; the most "
        "frequent label is right in {most_frequent:%}.",
        "The same holds, less, for {others}.",
        "A classifier that sees gaps will use them; here a gap counts as not asked. Fill in the answers, or leave the "
        "query out.",
    ),
    "class-level rows": (
        "Each of the {labels} labels has one row: the table states facts about labels. No rows can be held out, and no "
        "accuracy can be measured.",
        "The rows are facts about classes, not observations: {which} the same answers in each of its rows ({rows} "
        "rows, {patterns} patterns). A random split has {in_training:%} of its test rows in training too, and an "
        "accuracy measured on it is that of a lookup.",
        "Use answers about each single row, or declare the table as facts (fit --facts) and test with noisy answers.",
    ),
    "duplicate rows": (
        "Only {distinct} of {rows} rows are distinct, and {once} occur once; if cells varied independently within a "
        "class, about {expected:,.0f} would be distinct and {expected_once:,.0f} occur once. A random split into 80 % "
        "and 20 % has {in_training:%} of its test rows, label included, in training too: an accuracy measured on it is "
        "in part that of looking rows up.",
        "Remove duplicates before splitting, or keep equal rows in the same part.",
    ),
    "conflicting labels": (
        "{conflicting} of {rows} rows have the same answers as a row with another label ({patterns} patterns of "
        "answers). No classifier on these queries can be right in more than {bound:%} of the rows.",
        "Of these, {same_rows} rows are equal in the data itself; finer queries could tell apart the others.",
        "Add queries that tell these rows apart, correct wrong labels, or report the bound beside the accuracy.",
    ),
    "mostly missing": (
        "Features without an answer in {missing:%} or more of {rows} rows: {features}.",
        "What is learnt here rests on few rows. Leave it out, or find out why answers are missing.",
    ),
    "constant": (
        "Features with the same answer in all rows where it is known, of {rows}: {features}.",
        "Columns that are empty or constant are not asked about: {columns}.",
        "Leave them out, or check whether the data was read correctly.",
    ),
    "redundant": (
        "Of features with the same answers in all {rows} rows, or their negation, {superfluous} can be left out: "
        "{clusters: = }.",
        "Keep one of each group: a model of independent answers counts copies twice.",
    ),
    "imbalance": (
        "The labels are imbalanced: {most} is that of {share:%} of the rows.",
        "Labels of very few rows: {rare}.",
        "Judge by the calibration and by the accuracy within each class. Collect more rows of the rare ones.",
    ),
}
"""The clauses of a finding, each shown where all its numbers are given, and last what to do."""


@dataclass(frozen=True)
class Finding:
    """One fault: what it is, its evidence in words and as numbers, the names of the queries concerned, what to do."""

    kind: Kind
    severity: Severity
    sentence: str
    remedy: str
    queries: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, kind: Kind, severity: Severity, queries: Sequence[str], numbers: Mapping[str, Any], remedy: str = ""
    ) -> Finding:
        """A finding whose sentence is made of the clauses in `TEXTS` whose numbers are given and not None."""
        *clauses, usual = TEXTS[kind]
        given = {key: value for key, value in numbers.items() if value is not None}
        told = [clause for clause in clauses if {name for _, name, _, _ in WORDS.parse(clause) if name} <= given.keys()]
        sentence = " ".join(WORDS.format(clause, **given) for clause in told)
        return cls(kind, severity, sentence, remedy or usual, tuple(queries), numbers)


class _Words(string.Formatter):
    """Formats shares by ``%``, lists of names, and lists of groups by a separator."""

    def format_field(self, value: Any, spec: str) -> str:
        if spec == "%":
            return percent(float(value))
        if isinstance(value, (list, tuple)):
            groups = [spec.join(quoted(name, 40) for name in each[:3]) for each in value if isinstance(each, list)]
            return "; ".join([*groups[:4], *(["..."] if len(groups) > 4 else [])]) if groups else listed(value)
        return f"{value:,}" if isinstance(value, int) else str(super().format_field(value, spec))


WORDS = _Words()


@dataclass(frozen=True)
class LintReport:
    """All findings, most severe first; ``str`` gives the text.

    rows, queries, classes: how many there are. notes: sentences on what the findings rest on. source: the name of the
    data.
    """

    findings: tuple[Finding, ...]
    rows: int
    queries: int
    classes: int
    notes: tuple[str, ...] = ()
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
    last = f"{len(names) - most:,} more" if len(names) > most else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def _wrap(text: str, width: int, first: str = "", following: str | None = None) -> list[str]:
    together = text.replace(" %", "\u00a0%")  # a number and its sign stay on one line
    rest = first if following is None else following
    lines = textwrap.wrap(together, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]
