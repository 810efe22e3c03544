"""A strategy of your own: the same queries in the same order for everybody (static feature selection).

An acquisition function has a ``unit``, and gives a utility to every allowed query. This one ranks the
queries once, by their mutual information with the class in the training data, and never looks at the answers. Run it:
``python examples/fixed_order.py``.
"""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.feature_selection import mutual_info_classif

import infopursuit as ip
from infopursuit.pursuit import Acquisition, Estimate
from infopursuit.testing import check_acquisition, check_strategy


class StaticOrder(Acquisition):
    """Queries in a fixed order: the first that is allowed has the largest score."""

    unit = "score"  # not nats: the rule InformationGain cannot be used with it

    def __init__(self, ranking):
        self.ranking = np.asarray(ranking, dtype=float)

    def utilities(self, b, histories, allowed, budget):
        return Estimate.exact(np.where(allowed, self.ranking, np.nan))


def main():
    X, y = load_iris(return_X_y=True, as_frame=True)
    queries = ip.queries.columns(numbers="thresholds")
    rule = ip.Confidence(0.05)
    adaptive = ip.InformationPursuitClassifier(queries, "table", stopping=rule).fit(X, y).pursuit_
    answers = adaptive.queries.answers(X)[:, :, 0]
    order = StaticOrder(mutual_info_classif(answers, y, discrete_features=True))
    static = ip.Pursuit(adaptive.queries, adaptive.belief, order, stopping=rule)
    check_acquisition(order, static.belief, static.queries)
    check_strategy(static, X[:10])
    for name, pursuit in (("information gain", adaptive), ("static order", static)):
        trace = pursuit.run(X)
        print(f"{name:17} {np.mean(trace.predictions == y):.1%} right after {trace.length.mean():.1f} questions")


if __name__ == "__main__":
    main()
