"""A strategy of your own: queries at random, the baseline that every strategy has to beat.

The draw comes from the key of the history, so that it is a function of the history: the same answers lead to the same
next query, alone or in a batch, today or tomorrow. Run it: ``python examples/random_order.py``.
"""

import numpy as np
from sklearn.datasets import load_wine

import infopursuit as ip
from infopursuit.pursuit import Acquisition, Estimate
from infopursuit.testing import check_acquisition, check_strategy


class AtRandom(Acquisition):
    """Every allowed query has a uniform score."""

    unit = "score"

    def __init__(self, seed=0):
        self.seed = seed

    def utilities(self, b, histories, allowed, budget):
        draws = []
        for row in range(len(histories)):
            generator = np.random.default_rng([self.seed, *histories.key(row)])
            draws.append(generator.random(allowed.shape[1]))
        return Estimate.exact(np.where(allowed, draws, np.nan))


def main():
    X, y = load_wine(return_X_y=True, as_frame=True)
    rule = ip.Confidence(0.02) | ip.MaxQueries(6)
    informed = ip.InformationPursuitClassifier(strategy="table", stopping=rule).fit(X, y).pursuit_
    random = ip.Pursuit(informed.queries, informed.belief, AtRandom(), stopping=rule)
    check_acquisition(random.acquisition, random.belief, random.queries)
    check_strategy(random, X[:10])
    for name, pursuit in (("information gain", informed), ("random order", random)):
        trace = pursuit.run(X)
        print(f"{name:17} {np.mean(trace.predictions == y):.1%} right after {trace.length.mean():.1f} questions")


if __name__ == "__main__":
    main()
