"""The best strategies of a small world, by dynamic programming over the sets of inputs that histories leave.

Two histories that leave the same inputs have the same posterior and the same future, so that a set stands for all of
them. A query that all these inputs answer alike is never worth asking. The number of sets grows like 3 ** (yes/no
variables): the problem is NP-hard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from infopursuit.pursuit.stopping import SLACK, Check, Rule, Watch, check_rules
from infopursuit.support.types import TIE, UNKNOWN, FloatArray, IntArray
from theory.sets import Sets
from theory.strategy import Node, Strategy, branches
from theory.world import World, gains, information

Condition = Callable[[World, IntArray], bool]
"""Whether a strategy may stop where these inputs (rows of the world) are left."""

MAX_POINTS = 2**20
"""So many (length, divergence) pairs are compared at most."""


def within(epsilon: float) -> Condition:
    """The condition that at most epsilon nats are left to learn: I(X; Y | history) <= epsilon.

    That is E[KL(p(Y | X) || p(Y | history)) | history] <= epsilon: the constraint of eq. 3 asked for after each
    history, not only on average over all of them.

    >>> from theory import xor_world
    >>> within(0.1)(xor_world(), np.array([0, 3])), within(0.1)(xor_world(), np.array([0, 1]))
    (True, False)
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon={epsilon} must not be negative; it is information in nats, such as 0.01")
    return lambda world, inputs: information(world, inputs) <= epsilon + SLACK


def optimal_strategy(world: World, stopping: Rule | Condition) -> Strategy:
    """The strategy with the smallest E[length] among all that stop only where ``stopping`` holds.

    Parameters
    ----------
    stopping: `Confidence` or `InformationGain`, joined by ``|`` if need be, or a function of the world and the inputs
        that are left, such as `within`. Rules that look at more than what is known (`MaxQueries`, patience) are
        refused.

    A strategy also stops where no query tells the inputs left apart, as a pursuit does when its queries are
    exhausted. Every pursuit with the same rule stops only in such places, whatever its patience, so that its E[length]
    is never smaller. Chance cannot help: a strategy that tosses coins is a mixture of those compared. Ties go to the
    lowest query.

    >>> from infopursuit.pursuit.stopping import Confidence
    >>> from theory import label_world
    >>> strategy = optimal_strategy(label_world([0.5, 0.25, 0.25]), Confidence(0))
    >>> strategy.lengths.tolist()
    [1, 2, 2]
    """
    may_stop = _condition(stopping)
    sets = Sets(world)
    chosen: dict[int, int] = {}
    cost: dict[int, float] = {}  # of a set: the sum over its inputs of p(x) times the queries still to ask

    def solve(some: int) -> float:
        if some in cost:
            return cost[some]
        inputs = sets.rows(some)
        best, query = np.inf, UNKNOWN
        if not may_stop(world, inputs):
            for candidate, parts in sets.splits(some):
                total = sum(solve(part) for part in parts)
                if total < best - SLACK:
                    best, query = total, candidate
        chosen[some] = query
        cost[some] = 0.0 if query == UNKNOWN else float(world.probabilities[inputs].sum()) + best
        return cost[some]

    solve(sets.everything)
    return Strategy(world, _build(world, sets, lambda inputs: chosen[sets.of(inputs)]))


@dataclass(frozen=True, eq=False)
class Frontier:
    """All (E[length], E[KL]) pairs of strategies that no other strategy is better than in both, shortest first.

    lengths: (F,) rising. divergences: (F,) nats, falling.
    """

    world: World
    lengths: FloatArray
    divergences: FloatArray
    _points: dict[int, list[_Point]] = field(repr=False)
    _sets: Sets = field(repr=False)

    def __len__(self) -> int:
        return len(self.lengths)

    def strategy(self, index: int) -> Strategy:
        """A strategy that has the pair ``lengths[index]``, ``divergences[index]``."""
        index = range(len(self))[index]

        def grow(some: int, which: int) -> Node:
            point = self._points[some][which]
            inputs = self._sets.rows(some)
            below = {} if point.query == UNKNOWN else branches(self.world, inputs, point.query)
            wanted = dict(zip(point.parts, point.choices, strict=True))
            keys = {answer: self._sets.of(part) for answer, part in below.items()}
            return Node(inputs, point.query, {answer: grow(key, wanted[key]) for answer, key in keys.items()})

        return Strategy(self.world, grow(self._sets.everything, index))

    def shortest(self, epsilon: float) -> Strategy:
        """The strategy with the smallest E[length] whose E[KL] is at most epsilon nats."""
        fits = np.flatnonzero(self.divergences <= epsilon + TIE)
        if not len(fits):
            raise ValueError(
                f"epsilon={epsilon} is out of reach: with all queries answered E[KL] is still "
                f"{self.divergences[-1]:.6g} nats, since the queries are not sufficient for Y (eq. 1); "
                f"allow at least that much, or add queries"
            )
        return self.strategy(int(fits[0]))


@dataclass(frozen=True)
class _Point:
    """What one strategy for a set of inputs costs, and how it goes on; both sums are weighted by p(x)."""

    length: float
    divergence: float
    query: int = UNKNOWN
    parts: tuple[int, ...] = ()
    choices: tuple[int, ...] = ()


def frontier(world: World) -> Frontier:
    """Every E[length] and E[KL] worth having: eq. 3 for all epsilon at once (and eq. 10 for all gamma).

    Exact over deterministic strategies, the functions of the history that the paper minimises over. Tossing a coin
    between two of them would reach the straight line between their pairs, which may lie below the frontier. The pairs
    are kept by dynamic programming: those of a query are all sums of pairs of its branches, of which the ones that
    are beaten in both are dropped.

    >>> from theory import xor_world
    >>> found = frontier(xor_world())
    >>> found.lengths.tolist(), found.divergences.round(6).tolist()
    ([0.0, 1.5, 2.0], [0.693147, 0.346574, 0.0])
    """
    sets = Sets(world)
    points: dict[int, list[_Point]] = {}
    compared = 0

    def solve(some: int) -> list[_Point]:
        nonlocal compared
        if some in points:
            return points[some]
        inputs = sets.rows(some)
        mass = float(world.probabilities[inputs].sum())
        found = [_Point(0.0, mass * information(world, inputs))]
        for query, parts in sets.splits(some) if found[0].divergence > SLACK else ():
            sums = [_Point(mass, 0.0, query, parts)]
            for part in parts:
                below = solve(part)
                compared += len(sums) * len(below)
                if compared > MAX_POINTS:
                    raise ValueError(
                        f"world has too many strategies ({len(world)} inputs, {len(world.queries)} queries): more than "
                        f"{MAX_POINTS} pairs to compare; give a smaller world, or use "
                        f"optimal_strategy(world, within(epsilon))"
                    )
                sums = _undominated(
                    _Point(a.length + b.length, a.divergence + b.divergence, query, parts, (*a.choices, i))
                    for a in sums
                    for i, b in enumerate(below)
                )
            found.extend(sums)
        points[some] = _undominated(found)
        return points[some]

    best = solve(sets.everything)
    lengths, divergences = np.array([p.length for p in best]), np.array([p.divergence for p in best])
    return Frontier(world, lengths, divergences, points, sets)


def shortest_sufficient(world: World, epsilon: float) -> Strategy:
    """The solution of eq. 3 with d = KL: the smallest E[length] among strategies of `sufficiency` at most epsilon nats.

    The constraint is on the average, so the optimum may leave a rare history quite uncertain;
    ``optimal_strategy(world, within(epsilon))`` asks for it after every history and is never shorter, where it can be
    had at all. Over deterministic strategies, see `frontier`.

    >>> from theory import expected_length, sufficiency, xor_world
    >>> strategy = shortest_sufficient(xor_world(), 0.4)
    >>> expected_length(strategy), round(sufficiency(strategy), 6)
    (1.5, 0.346574)
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon={epsilon} must not be negative; it is a divergence in nats, such as 0.01")
    return frontier(world).shortest(epsilon)


def _undominated(points: Iterable[_Point]) -> list[_Point]:
    """The points that no other one beats in both, shortest first; of equals the first. Rounding makes no difference."""
    kept: list[_Point] = []
    for point in sorted(points, key=lambda p: (round(p.length, 11), p.divergence)):
        if not kept or point.divergence < kept[-1].divergence - SLACK:
            kept.append(point)
    return kept


def _condition(stopping: Rule | Condition) -> Condition:
    """A rule of the engine as a condition on the inputs that are left."""
    if not isinstance(stopping, Rule):
        if not callable(stopping):
            raise TypeError(f"stopping is {stopping!r}; expected a rule such as Confidence(0.01), or within(epsilon)")
        return stopping
    for rule in stopping.rules:
        if rule.budget or getattr(rule, "patience", None):
            raise ValueError(
                f"stopping holds {rule!r}, which looks at more than what is known; give Confidence or InformationGain "
                f"without patience, or within(epsilon)"
            )
    needs_gain = any(rule.needs_gain for rule in stopping.rules)

    def holds(world: World, inputs: IntArray) -> bool:
        gain = gains(world, inputs).max() if needs_gain else 0.0
        check = Check(world.posterior(inputs)[None], np.array([gain]), np.zeros(1, dtype=np.int64))
        return bool(check_rules(stopping, Watch.start(stopping), check, 0, np.zeros(1, dtype=bool))[1][0])

    return holds


def _build(world: World, sets: Sets, query_of: Callable[[IntArray], int]) -> Node:
    """The tree of a strategy that looks at the inputs left; equal sets share a node."""
    made: dict[int, Node] = {}

    def grow(inputs: IntArray) -> Node:
        key = sets.of(inputs)
        if key not in made:
            query = query_of(inputs)
            below = {} if query == UNKNOWN else branches(world, inputs, query)
            made[key] = Node(inputs, query, {answer: grow(part) for answer, part in below.items()})
        return made[key]

    return grow(world.inputs)
