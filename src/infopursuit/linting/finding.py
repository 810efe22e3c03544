"""One finding of the linter: what it is, how bad, about which queries, the numbers, a sentence and a remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Severity = Literal["serious", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the worst on: accuracy means nothing or the label is given away; look at it; good to know."""

Kind = Literal[
    "leak",
    "leaking pair",
    "gives a class away",
    "identifier",
    "missing tells the label",
    "facts by class",
    "repeated rows",
    "contradicting rows",
    "queries lose information",
    "model loses information",
    "mostly missing",
    "constant",
    "uninformative",
    "duplicates",
    "near duplicates",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In the order in which they are told within a severity."""


@dataclass(frozen=True)
class Finding:
    """What was found.

    queries: the names of those concerned, all of them. numbers: what the sentence says, for programs. sentence: what is
    the case. remedy: what to do about it.
    """

    kind: Kind
    severity: Severity
    sentence: str
    remedy: str
    queries: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "queries": list(self.queries),
            "numbers": dict(self.numbers),
            "sentence": self.sentence,
            "remedy": self.remedy,
        }


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The worst first."""
    return tuple(sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), KINDS.index(f.kind))))


def listed(names: Sequence[str], most: int = 4) -> str:
    """Some names, and how many more there are.

    >>> listed(["a", "b", "c"], most=2), listed(["a", "b", "c"]), listed(["a"])
    ('"a", "b" and 1 more', '"a", "b" and "c"', '"a"')
    """
    shown = [f'"{shortened(name)}"' for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def shortened(name: str, most: int = 60) -> str:
    """A name that is not longer than a line."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def percent(share: float) -> str:
    """A share with one digit; never 100 % or 0 % of what is not all or none.

    >>> percent(1.0), percent(0.99996), percent(0.5), percent(0.0001)
    ('100 %', 'over 99.9 %', '50.0 %', 'under 0.1 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    if share > 0.9995:
        return "over 99.9 %"
    return "under 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"


def at_least(share: float) -> str:
    """A share that others are not below.

    >>> at_least(0.98), at_least(0.9999)
    ('at least 98.0 %', 'over 99.9 %')
    """
    return percent(share) if 0.9995 < share < 1 else f"at least {percent(share)}"


def count(number: int, what: str, many: str | None = None) -> str:
    """A number and what it counts.

    >>> count(1, "query", "queries"), count(1200, "row")
    ('1 query', '1,200 rows')
    """
    return f"{number:,} {what if number == 1 else many or what + 's'}"
