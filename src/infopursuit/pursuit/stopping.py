"""Stopping rules: conditions on the posterior, the largest gain and the budget, combined with ``|`` and ``&``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from infopursuit.support.checks import number, whole_number
from infopursuit.support.types import FloatArray, IntArray, Rows

STOP = "STOP"

SLACK = 1e-12
"""Rounding that a threshold forgives: a posterior of one may come out as 1 - 1e-16."""

EXHAUSTED = "exhausted"
"""The reason where no query is left."""
IMPOSSIBLE = "impossible"
"""The reason where an answer is impossible under the model."""


@dataclass(frozen=True)
class Check:
    """What the rules look at, for each of H histories: (H, C) posterior, (H,) largest gain left, (H,) queries asked,
    (H,) whether queries are left, but none that what is left of the budget pays for."""

    posterior: FloatArray
    gain: FloatArray
    n_asked: IntArray
    unaffordable: Any = False


@dataclass(frozen=True)
class Rule:
    """A stopping rule; ``a | b`` stops when one of the two fires, ``a & b`` when both do."""

    name: ClassVar[str]
    needs_gain: ClassVar[bool] = False
    budget: ClassVar[bool] = False

    def __or__(self, other: Rule) -> AnyOf:
        return AnyOf((*_members(self, AnyOf), *_members(other, AnyOf)))

    def __and__(self, other: Rule) -> AllOf:
        return AllOf((*_members(self, AllOf), *_members(other, AllOf)))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The simple rules in written order."""
        return (self,)

    def params(self) -> dict[str, Any]:
        """The settings of the rule; those of combined rules begin with the name of each: ``confidence__epsilon``."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def with_params(self, **changes: Any) -> Rule:
        """The same rule with other settings, named as in `params`.

        >>> (Confidence() | MaxQueries(5)).with_params(confidence__epsilon=0.1)
        AnyOf(members=(Confidence(epsilon=0.1, patience=None), MaxQueries(n=5)))
        """
        self._check_params(changes)
        return replace(self, **changes)

    def _check_params(self, changes: Any) -> None:
        strange = [name for name in changes if name not in self.params()]
        if strange:
            raise ValueError(f"stopping has no parameter {strange[0]!r}; it has {', '.join(self.params())}")

    def holds(self, check: Check) -> Any:
        """(H,) whether the rule's condition holds now."""
        raise NotImplementedError

    def describe(self) -> str:
        """The rule in words.

        >>> (Confidence(0.01) | MaxQueries(5)).describe()
        'it is 99 % confident, or it has asked 5 questions'
        """
        return str(self)


@dataclass(frozen=True)
class Confidence(Rule):
    """Stop when some class has posterior at least 1 - epsilon (eq. 8)."""

    epsilon: float = 0.01
    patience: int | None = None
    name = "confidence"

    def __post_init__(self) -> None:
        number(self.epsilon, "epsilon", least=0, below=1)
        _check_patience(self.patience)

    def holds(self, check: Check) -> Any:
        return check.posterior.max(axis=1) >= 1 - self.epsilon - SLACK

    def describe(self) -> str:
        return f"it is {100 * (1 - self.epsilon):.5g} % confident"


@dataclass(frozen=True)
class InformationGain(Rule):
    """Stop when no query has an information gain above epsilon nats (eq. 7)."""

    epsilon: float = 1e-3
    patience: int | None = None
    name = "information_gain"
    needs_gain = True

    def __post_init__(self) -> None:
        number(self.epsilon, "epsilon", least=0)
        _check_patience(self.patience)

    def holds(self, check: Check) -> Any:
        return check.gain <= self.epsilon + SLACK

    def describe(self) -> str:
        return f"no question has an information gain above {self.epsilon:g} nats"


@dataclass(frozen=True)
class MaxQueries(Rule):
    """Stop after n queries; patience does not apply."""

    n: int = 20
    name = "max_queries"
    budget = True

    def __post_init__(self) -> None:
        whole_number(self.n, "n")

    def holds(self, check: Check) -> Any:
        return check.n_asked >= self.n

    def describe(self) -> str:
        return f"it has asked {self.n} question{'' if self.n == 1 else 's'}"


@dataclass(frozen=True)
class MaxCost(Rule):
    """Never spend more than this; patience does not apply.

    A query that costs more than is left is not asked; it stops when only such queries are left. Costs are those of
    `Costs`; without any, each query costs 1.
    """

    cost: float = 20.0
    name = "max_cost"
    budget = True

    def __post_init__(self) -> None:
        number(self.cost, "cost", least=0)

    def holds(self, check: Check) -> Any:
        return np.broadcast_to(check.unaffordable, check.n_asked.shape)

    def describe(self) -> str:
        return f"what is left to ask would cost more than {self.cost:g} together with what was asked"


def max_cost(stopping: Rule) -> float:
    """What may be spent under a rule: the least of its budgets in cost, without end where it has none."""
    return min((rule.cost for rule in stopping.rules if isinstance(rule, MaxCost)), default=float("inf"))


def max_queries(stopping: Rule) -> float:
    """How many questions may be asked under a rule: the least of its budgets, without end where it has none."""
    return min((rule.n for rule in stopping.rules if isinstance(rule, MaxQueries)), default=float("inf"))


@dataclass(frozen=True)
class _Combined(Rule):
    """Several rules together."""

    members: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        if not self.members or not all(isinstance(member, Rule) for member in self.members):
            raise ValueError(f"members={self.members!r}; expected one rule or more, such as ip.Confidence(0.01)")

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for member in self.members for rule in member.rules)

    def params(self) -> dict[str, Any]:
        return {f"{m.name}__{name}": value for m in self.members for name, value in m.params().items()}

    def with_params(self, **changes: Any) -> Rule:
        self._check_params(changes)
        members = []
        for m in self.members:
            mine = {name: f"{m.name}__{name}" for name in m.params()}
            members.append(m.with_params(**{name: changes[full] for name, full in mine.items() if full in changes}))
        return replace(self, members=tuple(members))

    def describe(self) -> str:
        parts = [f"({m.describe()})" if isinstance(m, _Combined) else m.describe() for m in self.members]
        return (", or " if isinstance(self, AnyOf) else ", and ").join(parts)


@dataclass(frozen=True)
class AnyOf(_Combined):
    """Stop when one of several rules fires; the first, in written order, is the reason."""

    name = "any_of"


@dataclass(frozen=True)
class AllOf(_Combined):
    """Stop when all of several rules fire; the reason names all of them."""

    name = "all_of"


def _members(rule: Rule, kind: type[_Combined]) -> tuple[Rule, ...]:
    return rule.members if isinstance(rule, kind) else (rule,)


@dataclass(frozen=True, repr=False)
class Watch(Rows):
    """The patience of H histories and R rules: (H, R) how often in a row each rule has held, and how many queries had
    been asked when that run began."""

    run: IntArray
    since: IntArray

    @classmethod
    def start(cls, stopping: Rule) -> Watch:
        """Of the one empty history."""
        zeros = np.zeros((1, len(stopping.rules)), dtype=np.int64)
        return cls(zeros, zeros)


def check_rules(stopping: Rule, watch: Watch, check: Check, patience: int, skipped: Any) -> tuple[Watch, Any, IntArray]:
    """One check of every rule for H histories: the new watch, (H,) why to stop or "", (H,) the query count when the
    rule that fired began to hold.

    A rule fires when it has held at ``patience`` + 1 checks in a row; a failure resets it. After a skipped question
    (``skipped`` (H,)) nothing was learnt: runs neither grow nor end. Budgets know no patience.
    """
    run, since = watch.run.copy(), watch.since.copy()
    found = []
    for r, rule in enumerate(stopping.rules):
        holds, wanted = np.asarray(rule.holds(check), dtype=bool), getattr(rule, "patience", None)
        if not rule.budget:
            since[:, r] = np.where(holds & (run[:, r] == 0) & ~skipped, check.n_asked, since[:, r])
            run[:, r] = np.where(skipped, run[:, r], np.where(holds, run[:, r] + 1, 0))
            holds = run[:, r] > (patience if wanted is None else wanted)
        found.append((np.where(holds, rule.name, "").astype(object), check.n_asked if rule.budget else since[:, r]))
    reason, when = _combine(stopping, iter(found))
    return Watch(run, since), reason, np.where(reason == "", check.n_asked, when)


def _combine(stopping: Rule, simple: Iterator[tuple[Any, IntArray]]) -> tuple[Any, IntArray]:
    """(H,) the reason of a rule made of others, "" where it does not fire, and (H,) when it settled; ``simple``: those
    of the simple rules in written order."""
    if not isinstance(stopping, _Combined):
        return next(simple)
    reason, when = _combine(stopping.members[0], simple)
    for member in stopping.members[1:]:
        other, later = _combine(member, simple)
        if isinstance(stopping, AnyOf):
            reason, when = np.where(reason == "", other, reason), np.where(reason == "", later, when)
        else:
            both = (reason != "") & (other != "")
            reason, when = np.where(both, reason + " and " + other, ""), np.maximum(when, later)
    return reason, when


def _check_patience(patience: int | None) -> None:
    if patience is not None:
        whole_number(patience, "patience")
