"""What the linter found, for people and for programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.linting.finding import SEVERITIES, Finding, Severity, count

FORMAT = "infopursuit.lint/1"
HEADS: Mapping[Severity, str] = {"serious": "Serious", "warning": "Look at this", "note": "Good to know"}


@dataclass(frozen=True)
class LintReport:
    """The findings, the worst first.

    source: what was looked at, in a few words. rows, queries, classes: how many there are. looked_at: sentences that
    say what the findings rest on: rows that were drawn, comparisons that were made or not. measured: the numbers
    behind them, as JSON data. `str` of it is the text that people read.
    """

    findings: tuple[Finding, ...]
    rows: int
    queries: int
    classes: int
    looked_at: tuple[str, ...] = ()
    measured: Mapping[str, Any] | None = None
    source: str = ""

    @property
    def serious(self) -> bool:
        """Whether anything serious was found."""
        return any(finding.severity == "serious" for finding in self.findings)

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind, such as "leak"."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def to_json(self) -> str:
        """Everything as JSON, readable by anything."""
        data = {
            "format": FORMAT,
            "source": self.source,
            "rows": self.rows,
            "queries": self.queries,
            "classes": self.classes,
            "serious": self.serious,
            "findings": [finding.to_data() for finding in self.findings],
            "looked_at": list(self.looked_at),
            "measured": self.measured or {},
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1, default=_plain)

    def text(self, width: int = 79) -> str:
        """The report as lines no longer than ``width``."""
        lines = _wrap(self._summary(), width)
        number = 0
        for severity in SEVERITIES:
            some = [finding for finding in self.findings if finding.severity == severity]
            if some:
                lines += ["", f"── {HEADS[severity]} ".ljust(width, "─")]
            for finding in some:
                number += 1
                lines += [] if finding is some[0] else [""]
                lines.append(f"{number:2}. {finding.kind[0].upper()}{finding.kind[1:]}")
                lines += _wrap(finding.sentence, width, "    ")
                lines += _wrap(f"> {finding.remedy}", width, "    ", "      ")
        if self.looked_at:
            lines += ["", "── What this rests on ".ljust(width, "─")]
            for sentence in self.looked_at:
                lines += _wrap(sentence, width)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _summary(self) -> str:
        about = f"{self.source}: " if self.source else ""
        sizes = (
            f"{count(self.rows, 'row')}, {count(self.classes, 'label')}, {count(self.queries, 'query', 'queries')}. "
        )
        if not self.findings:
            return f"{about}{sizes}Nothing was found."
        counts = [(severity, sum(f.severity == severity for f in self.findings)) for severity in SEVERITIES]
        words = [
            f"{n} serious" if severity == "serious" else count(n, severity)
            for severity, n in counts
            if n or severity == "serious"
        ]
        return f"{about}{sizes}{', '.join(words).replace('0 serious', 'Nothing serious', 1)}."


def _wrap(text: str, width: int, first: str = "", following: str | None = None) -> list[str]:
    indent = first if following is None else following
    together = text.replace(" %", "\u00a0%")  # a number and its sign stay on one line
    lines = textwrap.wrap(together, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


def _plain(value: Any) -> Any:
    """Numpy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no JSON data")
