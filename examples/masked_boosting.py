"""A belief of your own: boosted trees of scikit-learn, trained with random masking, and one-step look-ahead.

The trees see NaN for what was not asked, so one classifier gives p(y | history) after any history. What will be
answered next is predicted by the training rows that agree with the answers so far. `LookAhead` needs no more than
these two to compute the expected information gain of a query. Run it: ``python examples/masked_boosting.py``.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import infopursuit as ip
from infopursuit.pursuit import Belief, Capabilities, Estimate
from infopursuit.testing import check_acquisition, check_belief, check_strategy

DISAGREE = 0.2
"""What a training row's weight is multiplied by for each answer that it disagrees with."""


class MaskedBoosting(Belief):
    """p(y | history) by boosted trees. The state of H histories is what they observed: (H, A), -1 for unknown."""

    capabilities = Capabilities(answers=True)

    def __init__(self, sample, queries, seed=0, n_copies=8):
        rng = np.random.default_rng(seed)
        values = np.repeat(sample.values, n_copies, axis=0)
        share = rng.random((len(values), 1)) ** 2  # most histories are short
        masked = np.where((rng.random(values.shape) < share) & (values >= 0), values, np.nan)
        trees = HistGradientBoostingClassifier(max_iter=40, random_state=seed, early_stopping=False)
        self.trees = trees.fit(masked, np.repeat(sample.labels, n_copies))
        self.sample, self.queries, self.n_classes = sample, queries, sample.n_classes

    def init(self):
        return np.full((1, self.sample.values.shape[1]), -1)

    def update(self, b, parents, new):
        return new.observed()

    def log_posterior(self, b):
        p = self.trees.predict_proba(np.where(b >= 0, b, np.nan))
        return Estimate.exact(np.log(p / p.sum(axis=1, keepdims=True)))

    def answer_distribution(self, b, query):
        """Weighted frequencies of the answers of the training rows."""
        rows = self.sample.values
        differ = ((b[:, None] >= 0) & (b[:, None] != rows[None])).sum(axis=2)  # (H, N)
        weights = self.sample.weights * DISAGREE**differ
        answers = self.queries.answers_of(rows, np.full(len(rows), query))[:, 0]
        known = answers >= 0
        one_hot = np.eye(self.queries.n_answers[query])[answers[known]]
        counts = weights[:, known] @ one_hot + 1e-3
        return counts / counts.sum(axis=1, keepdims=True)


class Boosting(ip.strategies.Strategy):
    """The strategy, for ``InformationPursuitClassifier(strategy=Boosting())``."""

    def build(self, sample, queries, seed):
        return MaskedBoosting(sample, queries, seed), ip.strategies.LookAhead()


def main():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["mean radius", "mean texture", "mean smoothness", "worst concavity", "worst area", "worst symmetry"]]
    X = X.apply(pd.qcut, q=5, labels=["1 lowest", "2 low", "3 middle", "4 high", "5 highest"])  # asked whole
    train, test, labels, truth = train_test_split(X, y, test_size=60, random_state=0)
    rule = ip.Confidence(0.05) | ip.MaxQueries(4)
    clf = ip.InformationPursuitClassifier(strategy=Boosting(), stopping=rule, random_state=0).fit(train, labels)
    pursuit = clf.pursuit_
    check_belief(pursuit.belief, pursuit.queries, n_histories=3, n_steps=2)
    check_acquisition(pursuit.acquisition, pursuit.belief, pursuit.queries, n_histories=2)
    check_strategy(pursuit, test[:2])
    trace = clf.explain(test)
    right = np.mean(trace.predictions == truth)
    print(f"boosted trees, masked: {right:.1%} right after {trace.length.mean():.1f} questions")
    print(trace[0])


if __name__ == "__main__":
    main()
