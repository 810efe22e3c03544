"""A server answers before its models are loaded, and says so."""

import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

import infopursuit as ip
from infopursuit.app.cli.serve import listen
from infopursuit.app.server.limits import Limits
from isolated import run_alone


def wait_for(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def slow(models):
    """Loaders of two models, the second of which waits for an event."""
    event = threading.Event()

    def load():
        assert event.wait(120)
        return models["images"]

    return {"animals": lambda: models["animals"], "images": load}, event


def test_models_are_there_one_after_the_other(serving, slow):
    loaders, event = slow
    limits = Limits(timeout=2.0)
    with serving({}, limits, loaders=loaders) as address, httpx.Client(base_url=address, timeout=30) as client:
        wait_for(lambda: client.get("/v1/models").json()["loading"] == ["images"])
        assert [one["name"] for one in client.get("/v1/models").json()["models"]] == ["animals"]
        assert client.get("/healthz").json()["models"] == ["animals", "images"]
        assert client.post("/v1/models/animals/next", json={}).status_code == 200
        early = client.post("/v1/models/images/next", json={})
        assert (early.status_code, early.headers["retry-after"]) == (503, "1")
        assert (early.json()["title"], early.json()["value"]) == ("the model is loading", "images")
        assert client.get("/v1/models/images").status_code == 503
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json(), ready.headers["retry-after"]) == (503, {"status": "loading"}, "1")
        event.set()
        wait_for(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/readyz").json() == {"status": "ready"}
        assert client.post("/v1/models/images/next", json={}).status_code == 200
        told = client.get("/v1/models").json()
        assert ([one["name"] for one in told["models"]], told["loading"]) == (["animals", "images"], [])
        assert client.post("/v1/models/none/next", json={}).status_code == 404


def test_a_request_waits_for_its_model(serving, slow):
    loaders, event = slow
    with serving({}, loaders=loaders) as address:
        threading.Timer(0.3, event.set).start()
        assert httpx.post(f"{address}/v1/models/images/next", json={}, timeout=30).status_code == 200


def test_a_stop_does_not_wait_for_what_is_loading(serving, slow):
    loaders, event = slow
    with serving({}, loaders=loaders) as address:
        assert httpx.get(f"{address}/readyz").status_code == 503
        begin = time.monotonic()
    assert time.monotonic() - begin < 60  # half of what the loader waits
    event.set()


def test_a_model_that_cannot_be_loaded_is_reported(serving, models):
    def fail():
        raise ValueError("the tensors are gone")

    loaders = {"images": fail, "animals": lambda: models["animals"]}
    with serving({}, loaders=loaders) as address, httpx.Client(base_url=address, timeout=30) as client:
        failed = client.post("/v1/models/images/next", json={})
        assert (failed.status_code, failed.json()["title"]) == (500, "the model could not be loaded")
        assert client.post("/v1/models/animals/next", json={}).status_code == 200
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "failed"})


def test_a_response_does_not_wait_for_an_acknowledgement():
    """Head and body are two packets; else the second would come 40 ms later (Nagle's algorithm)."""
    with listen("127.0.0.1", 0, 5) as listener, socket.create_connection(listener.getsockname()):
        taken, _ = listener.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("more", [[], ["--workers", "2"]])
def test_a_damaged_model_is_told_in_one_line(models, tmp_path, more):
    ip.save(models["images"].pursuit, tmp_path / "images")
    tensors = next((tmp_path / "images").glob("*.safetensors"))
    tensors.write_bytes(tensors.read_bytes()[:-8] + b"\xff" * 8)
    command = [sys.executable, "-m", "infopursuit", "serve", str(tmp_path / "images"), "--port", "0", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    lines = set(done.stderr.strip().splitlines())
    assert done.returncode == 2
    assert len(lines) == 1
    assert "checksum does not agree" in lines.pop()


NOT_KEPT = """
import logging, sys
import numba.core.caching

logging.basicConfig(stream=sys.stdout)
numba.core.caching.CacheImpl._locator_classes = []  # of numba: no folder can be written to

from infopursuit.strategies.generative import kernels

assert [kernels.compiled(lambda x: x + 1)(k) for k in (1, 2)] == [2, 3]
"""


def test_compiled_code_that_cannot_be_kept_works_too():
    assert run_alone(NOT_KEPT).count("NUMBA_CACHE_DIR") == 1
