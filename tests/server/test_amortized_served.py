"""A network that asks, over HTTP."""

import httpx
import numpy as np
import pytest

import infopursuit as ip
from infopursuit.app.server.registry import ServedModel

pytest.importorskip("torch")


def test_served_it_asks_what_a_session_asks(serving):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(600, 3))
    queries = ip.queries.concepts(["first", "second", "third"])
    how = ip.QuerierTraining(epochs=5, learning_rate=1e-2)
    strategy = ip.Amortized("nats", ip.Trunk(hidden=(16,)), training=how)
    clf = ip.InformationPursuitClassifier(queries, strategy, stopping=ip.InformationGain(0.05)).fit(X, X[:, 1])
    served = {"net": ServedModel("net", "a network", clf.pursuit_)}
    with serving(served) as address, httpx.Client(base_url=address, timeout=30) as client:
        first = client.post("/v1/models/net/next", json={"history": []}).json()
        assert first["question"]["name"] == clf.session().question.name
        after = client.post("/v1/models/net/next", json={"history": [{"query": "second", "answer": "yes"}]}).json()
    session = clf.session([("second", "yes")])
    assert list(after["posterior"].values()) == pytest.approx(session.posterior.tolist(), abs=1e-5)
