"""A server with small models of every kind, on a port of its own, asked over real connections."""

import contextlib
import threading
import time

import httpx
import numpy as np
import pytest
import uvicorn

import infopursuit as ip
from infopursuit.app.cli.serve import listen
from infopursuit.app.server.app import create_app
from infopursuit.app.server.limits import Limits
from infopursuit.app.server.registry import served
from infopursuit.app.server.settings import uvicorn_options

ANIMALS = ["cat", "dog", "hen", "duck", "carp", "bee"]
FACTS = {
    "has fur": (1, 1, 0, 0, 0, 0),
    "barks": (0, 1, 0, 0, 0, 0),
    "has feathers": (0, 0, 1, 1, 0, 0),
    "swims": (0, 0, 0, 1, 1, 0),
    "is kept by people": (1, 1, 1, 1, 0, 0),
}


@contextlib.contextmanager
def _serving(models, limits=None, hosts=None, **options):
    limits = limits or Limits()
    listener = listen("127.0.0.1", 0, limits.write_timeout)
    app = create_app(models, limits, hosts=hosts, **options)
    server = uvicorn.Server(uvicorn.Config(app, **uvicorn_options(limits)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        for _ in range(1200):
            if server.started or not thread.is_alive():
                break
            time.sleep(0.05)
        assert server.started
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(120)
        listener.close()


def _make_models():
    """Yes/no questions about certain and doubtful facts, patches, columns and words."""
    rng = np.random.default_rng(0)
    facts = np.array(list(FACTS.values()), dtype=float).T
    certain = ip.models.TableModel(np.full(6, 1 / 6), None, facts)
    doubtful = ip.models.TableModel(np.full(6, 1 / 6), None, np.clip(facts, 0.05, 0.95))
    asked = ip.queries.concepts(list(FACTS))
    images, labels = np.zeros((40, 4, 5)), np.arange(40) % 2
    images[labels == 1, 1:3, 1:4] = 1
    images = np.where(rng.random(images.shape) < 0.1, 1 - images, images)
    sizes = rng.normal(size=60)
    table = np.array(list(zip(sizes.tolist(), rng.choice(["red", "blue"], 60).tolist(), strict=True)), dtype=object)
    texts = ["a fine day of rain", "the team won the match"] * 10

    def fit(queries, X, y, **settings):
        return ip.InformationPursuitClassifier(queries=queries, strategy="table", **settings).fit(X, y)

    things = {
        "certain": ip.generative_pursuit(certain, asked, classes=ANIMALS),
        "animals": ip.generative_pursuit(doubtful, asked, classes=ANIMALS, stopping=ip.Confidence(0.1)),
        "images": fit(ip.queries.patches((4, 5), size=2), images, labels),
        "table": fit(ip.queries.columns(names=["size", "colour"]), table, sizes > 0, stopping=ip.Confidence(0.01)),
        "texts": fit(ip.queries.words(), texts, ["weather", "sport"] * 10),
    }
    return {name: served(name, thing, f"a small model of {name}") for name, thing in things.items()}


@pytest.fixture(scope="session")
def serving():
    """The address of a server in a thread of this process: ``with serving(models) as address``."""
    return _serving


@pytest.fixture(scope="session")
def models():
    return _make_models()


@pytest.fixture(scope="session")
def client(models):
    with _serving(models) as address, httpx.Client(base_url=address, timeout=30) as asking:
        yield asking
