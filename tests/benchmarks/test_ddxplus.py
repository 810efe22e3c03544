"""Diagnosis by the official questions of DDXPlus: gains of set answers, and the first patients."""

import numpy as np
import pytest

import infopursuit as ip
from benchmarks import ddxplus
from data_fixtures import real_data  # noqa: F401
from infopursuit.pursuit.histories import Histories
from infopursuit.queries.queryset import QuerySet


class Sets(QuerySet):
    """One yes/no question, and one that is answered with any of nine values."""

    kind = "sets"

    def __init__(self):
        variables = np.full((2, 9), -1)
        variables[0, 0], variables[1] = 0, np.arange(1, 10)
        super().__init__(["fever", "where"], [2] * 10, variables, choices=[("no", "yes"), ()])

    def observe(self, X):
        return self.variables.check(X)

    def to_spec(self):
        raise NotImplementedError


def test_gains_of_set_answers_are_those_of_all_512_sets_within_their_monte_carlo_error():
    rng, queries = np.random.default_rng(0), Sets()
    probs = rng.uniform(0.05, 0.95, (4, 10))
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    model = ip.models.TableModel(prior, None, probs)
    belief = ip.strategies.Exact(model, queries)
    allowed = np.ones((1, 2), dtype=bool)
    args = (belief.init(), Histories.empty(queries), allowed)
    drawn = ddxplus.SetGain(model, n_draws=4000).bind(belief, queries, None, None)(*args).value[0]
    sets = np.array(np.meshgrid(*[[0, 1]] * 9)).reshape(9, -1).T
    likelihood = np.prod(np.where(sets[:, None] == 1, probs[:, 1:], 1 - probs[:, 1:]), axis=2)  # (512, C)
    joint = likelihood * prior
    marginal = joint.sum(axis=1)
    exact = (joint * np.log(joint / marginal[:, None] / prior)).sum()
    assert drawn[1] == pytest.approx(exact, abs=0.03)
    yes = probs[:, 0] @ prior
    after = [probs[:, 0] * prior / yes, (1 - probs[:, 0]) * prior / (1 - yes)]
    entropy = [-(p * np.log(p)).sum() for p in (prior, *after)]
    assert drawn[0] == pytest.approx(entropy[0] - yes * entropy[1] - (1 - yes) * entropy[2], abs=1e-9)


@pytest.mark.data
def test_the_first_patients_are_asked_about_details_after_their_parents(real_data, tmp_path):  # noqa: F811
    real_data("ddxplus_model.npz")
    release = ddxplus.Release()
    found = ddxplus.pursue(release, 25)
    assert ddxplus.parents_first(release, found)
    right = found["posteriors"].argmax(axis=2) == found["diseases"][:, None]
    assert right[:, 10].mean() > right[:, 0].mean()
    assert right[:, 10].mean() > 0.8
    ddxplus.save_demonstration(release, tmp_path / "model")
    session = ip.load(tmp_path / "model").session(known={"E_53": "yes"})
    assert session.question.sentence.endswith("?")


@pytest.mark.data
@pytest.mark.filterwarnings("ignore")  # evidences that no training patient has are not asked about
def test_a_model_of_patients_alone_asks_the_first_ones(real_data, monkeypatch):  # noqa: F811
    real_data("ddxplus_model.npz")
    monkeypatch.setattr(ddxplus, "N_FOLDS", 2)
    monkeypatch.setattr(ddxplus, "N_QUESTIONS", 8)
    found = ddxplus.learn(ddxplus.Release(), "table", 30)
    assert found["posteriors"].sum(axis=2) == pytest.approx(np.ones((30, 9)))
    right = found["posteriors"].argmax(axis=2) == found["diseases"][:, None]
    assert right[:, 8].mean() > right[:, 0].mean() + 0.2
