"""The truth about a small world whose answers may be wrong: every assignment, with every thing that may be said of it.

Like `enumerator`, naive and independent of the package.
"""

import itertools

import numpy as np

from enumerator import TIE, mutual_information


class NoisyTruth:
    """truth: an enumerated world. tables: for each query and variable a (K, K) table P(said | true)."""

    def __init__(self, truth, tables):
        self.truth, self.tables = truth, tables

    def said(self, query, answer):
        """(assignments,) P(answer is said | assignment); 1 where nothing is. Lists give it for each cell."""
        if answer is None:
            return np.ones(len(self.truth.assignments))
        found = []
        for true in self.truth.answers[query]:
            p = 1.0
            for w, (cell, told) in enumerate(zip(true, answer, strict=True)):
                if isinstance(told, (list, tuple)):
                    p *= told[cell]
                elif told != -1:
                    p *= self.tables[query][w][cell][told]
            found.append(p)
        return np.array(found)

    def weights(self, history):
        """(C, assignments) P(y, assignment, history)."""
        weights = self.truth.joint.sum(axis=1)
        for query, answer in history:
            weights = weights * self.said(query, answer)
        return weights

    def probability(self, history):
        return float(self.weights(history).sum())

    def posterior(self, history):
        mass = self.weights(history).sum(axis=1)
        return mass / mass.sum()

    def gain(self, query, history):
        """I(what is said; Y | history)."""
        weights = self.weights(history)
        sizes = [len(table) for table in self.tables[query]]
        table = np.stack([weights @ self.said(query, said) for said in itertools.product(*map(range, sizes))])
        return mutual_information(table / table.sum())

    def best(self, history, again):
        """The query with the largest gain among those that may be asked, the lowest of those that tie."""
        left = []
        right = [all(np.array_equal(table, np.eye(len(table))) for table in tables) for tables in self.tables]
        plain = [(q, answer) for q, answer in history if answer is None or not isinstance(answer[0], tuple)]
        # an answer that may be wrong rules nothing out; that something is not known does
        told = [
            (query, answer if right[query] or answer is None else tuple(-1 if cell == -1 else None for cell in answer))
            for query, answer in plain
        ]
        settled = self.truth.settled(told)
        for query in range(len(self.tables)):
            times = [answer for asked, answer in history if asked == query]
            if len(times) < again and None not in times and query not in settled:
                left.append(query)
        gains = {query: self.gain(query, history) for query in left}
        if not gains:
            return None, gains
        top = max(gains.values())
        return min(query for query, gain in gains.items() if gain >= top - TIE), gains
