"""What a comparison with training has found: a row for each thing compared, and a verdict in one sentence."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from infopursuit.monitoring.homogeneity import same_distribution, same_splits, stability_index, total_variation
from infopursuit.types import FloatArray

FORMAT = "infopursuit.drift/1"

ANSWERS, MISSING, CLASS, FIRST, STOP, LENGTH = "answers", "missing", "class", "first answer", "stop", "length"
KINDS = (ANSWERS, MISSING, CLASS, FIRST, STOP, LENGTH)
SHOWN = 3
"""Names in a sentence; the others are counted."""
FEW = 30
"""Inputs below which "no drift" says little."""


@dataclass(frozen=True)
class Change:
    """One thing compared.

    kind: "answers" and "missing" of an atom, "class" predicted, "first answer", "stop" and "length" of the pursuit.
    name: of the atom, the class or the query. example: what changed most, in words; before, now: its shares.
    distance: total variation, 0 to 1. stability_index: PSI. p, corrected_p: before and after the correction for being
    many. test: "exact", "chi-square" or "bound". n_before, n_now: what was compared. drifted: whether it counts.
    """

    kind: str
    name: str
    example: str
    before: float
    now: float
    distance: float
    stability_index: float
    p: float
    corrected_p: float
    test: str
    n_before: float
    n_now: float
    drifted: bool = False

    @classmethod
    def of(
        cls,
        kind: str,
        name: str,
        example: str,
        shares: tuple[float, float],
        old: Any,
        new: Any,
        splits: FloatArray | None = None,
    ) -> Change:
        """Two rows of counts (V,) compared, or their yes/no ``splits`` (n, V); not yet corrected for being one of
        many."""
        p, test = same_distribution(old, new) if splits is None else same_splits(old, new, splits)
        n_before, n_now = float(np.sum(old)), float(np.sum(new))
        both = n_before > 0 and n_now > 0
        return cls(
            kind=kind,
            name=name,
            example=example,
            before=float(shares[0]),
            now=float(shares[1]),
            distance=total_variation(old, new) if both else 0.0,
            stability_index=stability_index(old, new) if both else 0.0,
            p=p,
            corrected_p=p,
            test=test,
            n_before=n_before,
            n_now=n_now,
        )


@dataclass(frozen=True)
class DriftReport:
    """New inputs against training. ``print(report)`` tells it on a page; `verdict` in a sentence.

    changes: everything that was compared, in the order of `KINDS`. level: a change counts when its corrected p-value is
    at most this, and its distance at least ``least``. n_pursued: inputs that were pursued for what is predicted.
    unexplained: where predicted classes have shifted, the drifted atoms that would differ from training even if the
    classes had been as frequent there as they are now; None where that was not looked at. atoms: what an atom is
    called, and several. against: what it was compared with.
    """

    n_inputs: int
    n_before: float
    n_pursued: int
    level: float
    least: float
    changes: tuple[Change, ...]
    unexplained: tuple[str, ...] | None = None
    atoms: tuple[str, str] = ("question", "questions")
    against: str = "training"

    @property
    def found(self) -> bool:
        """Whether anything has drifted."""
        return any(change.drifted for change in self.changes)

    def drifted(self, kind: str | None = None) -> tuple[Change, ...]:
        """What has drifted, the largest distance first; of one kind, or of all."""
        mine = (c for c in self.changes if c.drifted and kind in (None, c.kind))
        return tuple(sorted(mine, key=lambda change: -change.distance))

    @property
    def verdict(self) -> str:
        """All of it in one sentence."""
        if self.found:
            return f"Drift: {'; '.join(_findings(self))}."
        smallest = min((c.corrected_p for c in self.changes), default=1.0)
        few = " With so few inputs only a large change would show." if self.n_inputs < FEW else ""
        small = sum(c.corrected_p <= self.level for c in self.changes)
        if small:
            return (
                f"No drift worth the name: of {_count(len(self.changes), 'comparison')} {small} "
                f"{'is' if small == 1 else 'are'} more than chance, but no distance is as large as {self.least:g}.{few}"
            )
        return (
            f"No drift: none of {_count(len(self.changes), 'comparison')} of {_count(self.n_inputs, 'input')} with "
            f"{self.against} is more than chance (smallest corrected p-value {in_words(smallest)}, drift is "
            f"{self.level:g} or less).{few}"
        )

    def to_json(self) -> str:
        """Everything as JSON."""
        data = {"format": FORMAT, "found": self.found, "verdict": self.verdict, **asdict(self)}
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        from infopursuit.monitoring.drift_text import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"<DriftReport: {len(self.drifted())} of {len(self.changes)} comparisons have drifted>"


def _findings(report: DriftReport) -> list[str]:
    one, several = report.atoms
    said = []
    answers = report.drifted(ANSWERS)
    if answers:
        n = sum(c.kind == ANSWERS for c in report.changes)
        are = "is" if len(answers) == 1 else "are"
        said.append(f"{len(answers)} of {_count(n, one, several)} {are} answered otherwise {_names(answers)}")
    for more, how in ((True, "more"), (False, "less")):
        missing = tuple(c for c in report.drifted(MISSING) if (c.now > c.before) == more)
        if missing:
            are = "is" if len(missing) == 1 else "are"
            said.append(f"{_count(len(missing), one, several)} {are} {how} often not known {_names(missing)}")
    classes = report.drifted(CLASS)
    if classes:
        shares = [f"{c.name} for {percent(c.now)} instead of {percent(c.before)}" for c in classes[:SHOWN]]
        said.append(f"predicted is {', '.join(shares)}{_rest(len(classes))}")
    words = {FIRST: "the first question is answered otherwise", STOP: "it stops for other reasons"}
    said += [text for kind, text in words.items() if report.drifted(kind)]
    said += [f"it asks {'more' if c.now > c.before else 'less'}" for c in report.drifted(LENGTH)]
    return said


def _names(changes: tuple[Change, ...]) -> str:
    return f"({', '.join(change.name for change in changes[:SHOWN])}{_rest(len(changes))})"


def _rest(n: int) -> str:
    return f" and {n - SHOWN} more" if n > SHOWN else ""


def _count(n: int, one: str, several: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else several or f'{one}s'}"


def percent(share: float) -> str:
    """A share in words.

    >>> percent(0.5), percent(0.003)
    ('50 %', '0.3 %')
    """
    return f"{100 * share:.0f} %" if share == 0 or share >= 0.095 else f"{100 * share:.1f} %"


def in_words(p: float) -> str:
    """A p-value in words.

    >>> in_words(0.2), in_words(1e-9)
    ('0.2', '< 0.0001')
    """
    return f"{p:.2g}" if p >= 0.0001 else "< 0.0001"
