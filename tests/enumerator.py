"""The truth about a small world, by writing down every (y, z, assignment of the variables) with its probability.

Deliberately naive and independent of the package: no torch, no log space, no shared function. Of the package it only
reads a query set's data (`names`, `query_variables`, `query_cells`). Knowing something means crossing out the
assignments
that disagree with it.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

TIE = 1e-9
ROUNDING = 1e-12  # a posterior of one may come out as 1 - 1e-16


@dataclass(frozen=True)
class TrueTrace:
    """What the pursuit of one input must look like."""

    queries: list
    answers: list  # one tuple for each step, padded with -1
    gains: list
    posteriors: list  # one more than the steps
    length: int
    settled_at: int
    stop_reason: str


class Truth:
    """prior: (C,); latent: (C, Z); probs: for each variable a (C, Z, V_a) table; queries: a query set."""

    def __init__(self, prior, latent, probs, queries):
        self.n_classes, self.n_latents = np.asarray(latent).shape
        self.queries = queries
        self.sizes = [np.asarray(table).shape[2] for table in probs]
        self.assignments = list(itertools.product(*map(range, self.sizes)))
        self.joint = np.empty((self.n_classes, self.n_latents, len(self.assignments)))  # P(y, z, assignment)
        for c, z in itertools.product(range(self.n_classes), range(self.n_latents)):
            for n, values in enumerate(self.assignments):
                p = float(prior[c]) * float(latent[c][z])
                for variable, value in enumerate(values):
                    p *= float(probs[variable][c][z][value])
                self.joint[c, z, n] = p
        self.answers = [[self.answer(q, values) for values in self.assignments] for q in range(len(queries.names))]
        # the same answers as whole numbers, to count with
        self.codes = []
        for answers in self.answers:
            seen = {answer: code for code, answer in enumerate(dict.fromkeys(answers))}
            self.codes.append(np.array([seen[answer] for answer in answers]))
        self._gains, self._masks = {}, {}  # remembered, since the same is asked often

    def answer(self, query, values):
        """The cells that hold for the variables of a query, -1 where a variable is not known; without padding."""
        cells = []
        for variable, partition in zip(
            self.queries.query_variables[query], self.queries.query_cells[query], strict=True
        ):
            if variable >= 0:
                cells.append(int(partition[values[variable]]) if values[variable] >= 0 else -1)
        return tuple(cells)

    def agrees(self, history):
        """Which assignments are not crossed out by a history of (query, answer or None)."""
        keep = np.ones(len(self.assignments), dtype=bool)
        for query, answer in history:
            if answer is not None:
                keep &= self._agrees_with(query, tuple(answer))
        return keep

    def _agrees_with(self, query, answer):
        if (query, answer) not in self._masks:
            agree = [all(a in (-1, b) for a, b in zip(answer, true, strict=True)) for true in self.answers[query]]
            self._masks[query, answer] = np.array(agree)
        return self._masks[query, answer]

    def probability(self, history):
        """P(history): 0 when it is impossible."""
        return float(self.joint[:, :, self.agrees(history)].sum())

    def posterior(self, history):
        """(C,) P(y | history)."""
        mass = self.joint[:, :, self.agrees(history)].sum(axis=(1, 2))
        return mass / mass.sum()

    def answer_joint(self, query, history):
        """(answers, C) P(answer, y | history)."""
        keep, codes = self.agrees(history), self.codes[query]
        table = np.zeros((codes.max() + 1, self.n_classes))
        for c in range(self.n_classes):
            for z in range(self.n_latents):
                table[:, c] += np.bincount(codes[keep], weights=self.joint[c, z, keep], minlength=len(table))
        return table / table.sum()

    def gain(self, query, history):
        """I(answer; Y | history) in nats."""
        key = (query, tuple(history))
        if key not in self._gains:
            self._gains[key] = mutual_information(self.answer_joint(query, history))
        return self._gains[key]

    def closed(self, history, *, certain=True):
        """The queries not to be asked: asked already, or the answer follows from the others, or it was said not to be
        known. certain: whether answers rule values out."""
        return {query for query, _ in history} | self.settled(history, certain=certain)

    def settled(self, history, *, certain=True):
        """The queries about which nothing is left to learn, asked or not."""
        closed = set()
        parts = [
            [(int(a), cells) for a, cells in zip(*pair, strict=True) if a >= 0]
            for pair in zip(self.queries.query_variables, self.queries.query_cells, strict=True)
        ]
        left = [set(range(size)) for size in self.sizes]
        for query, answer in history:
            for (variable, cells), cell in zip(parts[query], answer or (-1,) * len(parts[query]), strict=True):
                if cell == -1:
                    left[variable] = set()
                elif certain and cell is not None:
                    left[variable] = {value for value in left[variable] if cells[value] == cell}
        for query, looked_at in enumerate(parts):
            if all(len({int(cells[value]) for value in left[variable]}) <= 1 for variable, cells in looked_at):
                closed.add(query)
        return closed

    def best(self, history):
        """The open query with the largest gain, the lowest of those that tie, and its gain."""
        closed = self.closed(history)
        left = {q: self.gain(q, history) for q in range(len(self.queries.names)) if q not in closed}
        if not left:
            return None, 0.0
        top = max(left.values())
        query = min(q for q, gain in left.items() if gain >= top - TIE)
        return query, left[query]

    def trace(self, values, rules, patience=0):
        """The whole pursuit of one input.

        rules: in written order ("confidence", epsilon, own patience or None), ("information_gain", epsilon, own
        patience or None) or ("max_queries", n). Where no query is left, the largest gain left is 0.
        """
        history, answers, gains = [], [], []
        posteriors = [self.posterior([])]
        run, since = [0] * len(rules), [0] * len(rules)
        skipped = False
        while True:
            query, gain = self.best(history)
            for r, rule in enumerate(rules):
                if rule[0] == "max_queries":
                    if len(history) >= rule[1]:
                        return self._done(history, answers, gains, posteriors, len(history), "max_queries")
                    continue
                if skipped:  # nothing was learnt, so this is no check: the run neither grows nor ends
                    continue
                if rule[0] == "confidence":
                    holds = max(posteriors[-1]) >= 1 - rule[1] - ROUNDING
                else:
                    holds = gain <= rule[1] + ROUNDING
                if holds and run[r] == 0:
                    since[r] = len(history)
                run[r] = run[r] + 1 if holds else 0
                if run[r] >= 1 + (patience if rule[2] is None else rule[2]):
                    return self._done(history, answers, gains, posteriors, since[r], rule[0])
            if query is None:
                return self._done(history, answers, gains, posteriors, len(history), "exhausted")
            answer = self.answer(query, values)
            skipped = all(cell == -1 for cell in answer)
            history.append((query, None if skipped else answer))
            answers.append(answer)
            gains.append(gain)
            if self.probability(history) == 0:
                posteriors.append(posteriors[-1])
                return self._done(history, answers, gains, posteriors, len(history), "impossible")
            posteriors.append(posteriors[-1] if skipped else self.posterior(history))

    def _done(self, history, answers, gains, posteriors, settled_at, why):
        width = self.queries.query_variables.shape[1]
        return TrueTrace(
            queries=[query for query, _ in history],
            answers=[answer + (-1,) * (width - len(answer)) for answer in answers],
            gains=gains,
            posteriors=posteriors,
            length=len(history),
            settled_at=settled_at,
            stop_reason=why,
        )


def mutual_information(table):
    """I(A; Y) of a table P(a, y), term by term."""
    total = 0.0
    row, column = table.sum(axis=1), table.sum(axis=0)
    for a, y in zip(*np.nonzero(table), strict=True):
        total += table[a, y] * (math.log(table[a, y]) - math.log(row[a]) - math.log(column[y]))
    return max(total, 0.0)


def entropy(p):
    """H(p) in nats."""
    return -sum(float(x) * math.log(x) for x in np.ravel(p) if x > 0)
