"""The truth about a small world in fractions: no rounding, no underflow, whatever the probabilities are.

Variables are independent given the state, so that a state's weight after a history is its prior times, for each
variable, the
probability of the values that the answers leave; answers that may be wrong weigh each value instead.
"""

import math
from fractions import Fraction

UNKNOWN = -1


class Rational:
    """prior: (C,); latent: (C, Z); probs: for each variable a (C, Z, V_a) table; queries: a query set."""

    def __init__(self, prior, latent, probs, queries):
        self.queries = queries
        self.n_classes = len(prior)
        total = sum(map(_exact, prior))
        self.states = []  # (class, weight, for each variable its values' probabilities)
        for c, row in enumerate(latent):
            whole = sum(map(_exact, row))
            for z, share in enumerate(row):
                tables = [[_exact(p) for p in table[c][z]] for table in probs]
                self.states.append((c, _exact(prior[c]) / total * _exact(share) / whole, tables))

    def left(self, history):
        """For each variable and value how well it agrees with the answers: 0 or 1, or a product of P(said | value)."""
        sizes = [len(table) for table in self.states[0][2]]
        weights = [[Fraction(1)] * size for size in sizes]
        for query, answer in history:
            for w, variable in enumerate(self._variables(query)):
                said = None if answer is None else answer[w]
                for value in range(sizes[variable]):
                    weights[variable][value] *= self._agrees(query, w, value, said)
        return weights

    def joint(self, history):
        """(C,) p(y, history)."""
        left, found = self.left(history), [Fraction(0)] * self.n_classes
        for c, weight, tables in self.states:
            for table, allowed in zip(tables, left, strict=True):
                weight *= sum(p * a for p, a in zip(table, allowed, strict=True))
            found[c] += weight
        return found

    def posterior(self, history):
        """(C,) p(y | history) as numbers; None where the history is impossible."""
        joint = self.joint(history)
        total = sum(joint)
        return None if total == 0 else [float(p / total) for p in joint]

    def gain(self, query, history):
        """I(answer; Y | history), nats, of a query about one variable that is answered as it is."""
        before = self.joint(history)
        whole = sum(before)
        found = 0.0
        for cell in range(int(self.queries.n_cells[query, 0])):
            after = self.joint([*history, (query, (cell,))])
            said = sum(after) / whole
            for p, q in zip(after, before, strict=True):
                if p:
                    found += float(p / whole) * (_log(p / whole) - _log(said) - _log(q / whole))
        return found

    def _variables(self, query):
        return [int(a) for a in self.queries.query_variables[query] if a >= 0]

    def _agrees(self, query, w, value, said):
        if said is None or said == UNKNOWN:
            return Fraction(1)
        cell = int(self.queries.query_cells[query, w, value])
        if isinstance(said, list):  # P(this was said | cell) of each cell
            return _exact(said[cell])
        return Fraction(int(cell == said))


def _exact(number):
    return Fraction(float(number))


def _log(fraction):
    return math.log(fraction.numerator) - math.log(fraction.denominator)
