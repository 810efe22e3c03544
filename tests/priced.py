"""The truth about pursuits with costs, prerequisites, forbidden queries and a budget, one by one and naively."""

import itertools

import numpy as np

import infopursuit as ip
from enumerator import ROUNDING, TIE


class Priced:
    """costs: one for each query. requires: {query: [(other, set of answers, or None: asked), ...]}. forbidden: a set.

    It reads the gains and posteriors of a `Truth`, and decides by itself what may be asked and what is best.
    """

    def __init__(self, truth, costs, requires, forbidden, budget=None):
        self.truth, self.costs, self.requires, self.forbidden, self.budget = truth, costs, requires, forbidden, budget

    def options(self, names):
        """The options of a pursuit that say so."""
        requires = {}
        for query, conditions in self.requires.items():
            written = [None if wanted is None else [list(a) for a in sorted(wanted)] for _, wanted in conditions]
            others = [names[other] for other, _ in conditions]
            requires[names[query]] = list(zip(others, written, strict=True))
        constraints = ip.Constraints(requires, [names[q] for q in self.forbidden])
        return {"costs": ip.Costs(list(self.costs)), "constraints": constraints}

    def known(self, history, other, wanted):
        """Whether every assignment that the history leaves answers the other query as wanted."""
        if wanted is None:
            return other in [query for query, _ in history]
        left = [self.truth.answers[other][n] for n in np.flatnonzero(self.truth.agrees(history))]
        return len(left) > 0 and all(answer in wanted for answer in left)

    def allowed(self, history):
        """What may be asked, whatever it costs."""
        closed = self.truth.closed(history)
        return [
            q
            for q in range(len(self.costs))
            if q not in closed
            and q not in self.forbidden
            and all(self.known(history, *condition) for condition in self.requires.get(q, []))
        ]

    def spent(self, history):
        return sum(self.costs[query] for query, _ in history)

    def best(self, history):
        """The query to ask or None, its gain, the largest gain of any that may be asked, and whether money is short."""
        allowed = self.allowed(history)
        left = float("inf") if self.budget is None else self.budget - self.spent(history)
        paid = [q for q in allowed if self.costs[q] <= left + 1e-9]
        if not paid:
            return None, 0.0, 0.0, bool(allowed)
        gains = {q: self.truth.gain(q, history) for q in paid}
        free = [q for q in paid if self.costs[q] == 0 and gains[q] > TIE]
        least = min((cost for cost in self.costs if cost), default=1.0)
        if free:
            top = max(gains[q] for q in free)
            query = min(q for q in free if gains[q] >= top - TIE)
        else:
            # what is free and tells nothing is worth its nothing
            rate = {q: gains[q] / (self.costs[q] or least) for q in paid}
            leader = max(rate, key=rate.get)
            near = TIE / (self.costs[leader] or least)
            query = min(q for q in paid if rate[q] >= rate[leader] - near)
        return query, gains[query], max(gains.values()), False

    def trace(self, values, rules, patience=0):
        """(queries, gains, reason, settled_at); rules as in `Truth.trace`, and ("max_cost",)."""
        history, gains, run, since, skipped = [], [], [0] * len(rules), [0] * len(rules), False
        while True:
            query, gain, largest, short = self.best(history)
            posterior = self.truth.posterior(history)
            for r, rule in enumerate(rules):
                if rule[0] in ("max_queries", "max_cost"):
                    if short if rule[0] == "max_cost" else len(history) >= rule[1]:
                        return [q for q, _ in history], gains, rule[0], len(history)
                    continue
                if skipped:
                    continue
                if rule[0] == "confidence":
                    holds = max(posterior) >= 1 - rule[1] - ROUNDING
                else:
                    holds = largest <= rule[1] + ROUNDING and not short
                if holds and run[r] == 0:
                    since[r] = len(history)
                run[r] = run[r] + 1 if holds else 0
                if run[r] >= 1 + (patience if rule[2] is None else rule[2]):
                    return [q for q, _ in history], gains, rule[0], since[r]
            if query is None:
                return [q for q, _ in history], gains, "exhausted", len(history)
            answer = self.truth.answer(query, values)
            skipped = all(cell == -1 for cell in answer)
            before, history = history, [*history, (query, None if skipped else answer)]
            gains.append(gain)
            if self.truth.probability(history) == 0:
                return [q for q, _ in history], gains, "impossible", len(history)
            if skipped:  # the posterior is the one before
                assert np.array_equal(self.truth.posterior(before), self.truth.posterior(history))


def random_prices(world, rng, *, budget=False):
    """Random costs and constraints of a world: some queries free, some dear, some behind others, some never asked."""
    n = len(world.queries)
    costs = [float(c) for c in rng.choice([0.0, 0.5, 1.0, 1.0, 2.0, 7.25], size=n)]
    order, requires = rng.permutation(n).tolist(), {}
    for place, query in enumerate(order):
        if place and rng.random() < 0.75:
            some = 2 if place > 1 and rng.random() < 0.2 else 1
            others = rng.choice(order[:place], size=some, replace=False).tolist()
            requires[query] = [(other, _wanted(world, other, rng)) for other in others]
    forbidden = {q for q in range(n) if rng.random() < 0.08}
    if len(forbidden) == n:
        forbidden = set()
    most = float(rng.choice([0.0, 5.0, 12.0, 40.0, 40.0])) if budget else None
    return Priced(world.truth, costs, requires, forbidden, most)


def _wanted(world, other, rng):
    """Some answers to a query, but not all; or None for any."""
    sizes = world.queries.n_cells[other][world.queries.query_variables[other] >= 0].tolist()
    if rng.random() < (0.3 if len(sizes) == 1 else 0.7):
        return None
    answers = list(itertools.product(*map(range, sizes)))
    some = int(rng.integers(1, len(answers))) if len(sizes) == 1 else 1
    return {answers[i] for i in rng.permutation(len(answers))[:some]}
