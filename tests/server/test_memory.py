"""What a server remembers is bounded: when its caches are full, further requests leave nothing behind."""

import gc
import random
import sys
from itertools import count

import httpx
import numpy as np
import pytest

import infopursuit as ip
from infopursuit.app.server import app, registry
from infopursuit.app.server.observability import Metrics
from infopursuit.app.server.registry import ServedModel, served

QUESTIONS = [f"question {i}" for i in range(12)]
ROUND, ROUNDS = 60, 4
"""Requests of a round, and rounds, of which the first fills the caches."""
LEAK = 5
"""Blocks that a leak leaves for each request, at the least: the planted ones leave 13 to 73, other threads of the tests
2 at the most."""


@pytest.fixture
def model(monkeypatch):
    """Of many possible histories, with caches that are full after a few."""
    monkeypatch.setattr(registry, "STATE_BYTES", 300_000)
    monkeypatch.setattr(registry, "GAIN_BYTES", 20_000)
    monkeypatch.setattr(app, "CACHE_BYTES", 100_000)
    likely = np.random.default_rng(0).uniform(0.2, 0.8, (6, len(QUESTIONS)))
    table = ip.models.TableModel(np.full(6, 1 / 6), None, likely)
    stopping = ip.Confidence(1e-9) | ip.MaxQueries(len(QUESTIONS))
    return served("many", ip.generative_pursuit(table, ip.queries.concepts(QUESTIONS), stopping=stopping))


def ask_much(client, seed):
    """One round: new histories, reports, and inputs to explain."""
    rng = random.Random(seed)
    for k in range(ROUND):
        asked = rng.sample(QUESTIONS, rng.randint(4, 9))
        history = [{"query": name, "answer": rng.choice(["yes", "no"])} for name in asked]
        if k % 10 == 0:
            inputs = [[rng.choice([0, 1]) for _ in QUESTIONS]]
            response = client.post("/v1/models/many/explain", json={"inputs": inputs})
        else:
            response = client.post(f"/v1/models/many/{'report' if k % 10 == 1 else 'next'}", json={"history": history})
        assert response.status_code == 200


def left_behind(serving, model):
    """Blocks of memory that the rounds after the first have left, for each request: the smallest of them, since
    whatever is made once is made in one of them."""
    blocks = []
    with serving({"many": model}) as address, httpx.Client(base_url=address, timeout=30) as client:
        for seed in range(ROUNDS):
            ask_much(client, seed)
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    return min(np.diff(blocks)) / ROUND


def test_full_caches_stay_as_large_as_they_are(serving, model):
    found = left_behind(serving, model)
    assert len(model.states) == model.states.maxsize < ROUND
    gains = model.pursuit.bindings.bind(model.pursuit)[1]
    assert 0 < len(gains) < ROUND
    assert found < LEAK


def unbounded_states(monkeypatch):
    monkeypatch.setattr(ServedModel, "states", property(lambda self: self.__dict__.setdefault("all", {})))


def unbounded_responses(monkeypatch):
    class Unbounded(dict):
        def __init__(self, maxsize, getsizeof):
            self.getsizeof = getsizeof

    monkeypatch.setattr(app, "LRUCache", Unbounded)


def unbounded_labels(monkeypatch):
    numbers, whole = count(), Metrics.count

    def with_number(self, method, route, status, seconds):
        whole(self, method, f"{route} {next(numbers)}", status, seconds)

    monkeypatch.setattr(Metrics, "count", with_number)


@pytest.mark.parametrize("plant", [unbounded_states, unbounded_responses, unbounded_labels])
def test_a_planted_leak_is_found(serving, model, monkeypatch, plant):
    plant(monkeypatch)
    assert left_behind(serving, model) > LEAK
