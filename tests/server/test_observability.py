"""What is written down, and that nothing of what people have said is."""

import io
import json
import logging
import re
import string
import time

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infopursuit.app.server.observability import configure_logging, log_error
from infopursuit.app.server.registry import ServedModel

KEYS = {"time", "level", "event", "id", "method", "route", "status", "seconds", "bytes_in", "bytes_out"}


class Failing:
    """A pursuit in which something breaks, with a message that has everything in it."""

    def __init__(self, pursuit):
        self._pursuit = pursuit

    def __getattr__(self, name):
        return getattr(self._pursuit, name)

    def at(self, history, since=None, known=()):
        if history:
            raise RuntimeError(f"broken by {history!r}: {[self.queries.say(*item) for item in history]}")
        return self._pursuit.at(history, since, known)

    def run_values(self, values, **options):
        raise RuntimeError(f"broken by {values.tolist()!r}")


@pytest.fixture(scope="module", params=["json", "text"])
def logged(request, serving, models):
    """(client, lines written so far); one of the models fails whenever it is asked."""
    stream = io.StringIO()
    offered = {**{name: models[name] for name in ("animals", "texts", "table")}}
    offered["failing"] = ServedModel("failing", "fails", Failing(models["animals"].pursuit))
    with (
        configure_logging(request.param, stream),
        serving(offered) as address,
        httpx.Client(base_url=address) as client,
    ):
        yield client, stream


def written(stream, at, n):
    """The lines since a place, when there are n; one is written after its answer was sent."""
    for _ in range(6000):
        lines = stream.getvalue()[at:].splitlines()
        if len(lines) >= n:
            break
        time.sleep(0.01)
    assert len(lines) == n
    return lines


def test_a_line_for_each_request(logged):
    client, stream = logged
    at = len(stream.getvalue())
    answer = client.post("/v1/models/animals/next", json={"history": [{"query": "barks", "answer": "yes"}]})
    client.post("/v1/models/nobody/next?secret=1", json={})
    client.request("BREW", "/somewhere")
    lines = written(stream, at, 3)
    assert answer.headers["x-request-id"] in lines[0]
    if lines[0].startswith("{"):
        first, second, third = map(json.loads, lines)
        assert set(first) == KEYS | {"model", "version"}
        assert (first["model"], first["route"], first["status"]) == ("animals", "/v1/models/{name}/next", 200)
        assert first["bytes_out"] == len(answer.content)
        assert first["bytes_in"] == int(answer.request.headers["content-length"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"])
        assert set(second) == KEYS  # a model that is not there is no name to be told
        assert (second["status"], third["method"], third["route"]) == (404, "other", "unmatched")
    else:
        assert "route=/v1/models/{name}/next status=200" in lines[0]


SECRETS = st.text(string.ascii_letters, min_size=8, max_size=20).map(lambda text: f"zq{text}")


@settings(max_examples=10)
@given(secret=SECRETS, number=st.integers(10**9, 10**15))
def test_what_people_send_is_not_written_down(logged, secret, number):
    """In every place of a request, for requests that are answered, refused, and that break the model."""
    client, stream = logged
    at = len(stream.getvalue())
    said = {"history": [{"query": "barks", "answer": secret}, {"query": secret, "answer": "yes"}]}
    headers = {"x-request-id": secret, "user-agent": secret, "referer": secret, "authorization": f"Bearer {secret}"}
    client.post("/v1/models/animals/next", json=said, headers=headers)
    client.post("/v1/models/animals/next", json={secret: number, "top": secret})
    client.post("/v1/models/animals/next", json={"history": [{"query": "barks", "answer": {secret: number}}]})
    client.post("/v1/models/animals/next", content=secret.encode(), headers={"content-type": secret})
    client.post(f"/v1/models/{secret}/next", params={secret: secret}, json={})
    client.get(f"/{secret}/{number}", params={"a": secret})
    client.request(secret, "/v1/models")
    client.post("/v1/models/texts/explain", json={"inputs": [secret, number]})
    client.post("/v1/models/texts/explain", json={"inputs": [secret]})
    client.post("/v1/models/table/explain", json={"inputs": [{"size": number, "colour": secret}]})
    broken = client.post("/v1/models/failing/next", json={"history": [{"query": "barks", "answer": "yes"}]})
    assert broken.status_code == 500
    assert client.post("/v1/models/failing/explain", json={"inputs": [[1, 0, 1, 0, 1]]}).status_code == 500
    lines = "\n".join(written(stream, at, 14))
    assert secret not in lines
    assert str(number) not in lines
    assert "barks" not in lines
    assert "RuntimeError" in lines
    assert "test_observability.py" in lines
    assert broken.headers["x-request-id"] in broken.json()["remedy"]
    assert lines.count(broken.headers["x-request-id"]) == 2


def test_errors_that_libraries_log_lose_their_words():
    stream = io.StringIO()
    with configure_logging("json", stream):
        try:
            raise ValueError("he said yes to question 7")
        except ValueError as error:
            logging.getLogger("uvicorn.error").error("Exception in ASGI application", exc_info=error)
            logging.getLogger("asyncio").error(f"Task exception was never retrieved: {error!r}", exc_info=error)
            logging.getLogger("infopursuit.pursuit.loop").warning("something about %s", "yes to question 7")
            log_error("failed", error)
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [one["event"] for one in told] == ["complaint"] * 3 + ["failed"]
    assert "question 7" not in stream.getvalue()
    assert [one.get("error") for one in told] == ["ValueError", "ValueError", None, "ValueError"]
    assert told[2]["said"] == "something about %s"
    assert told[3]["at"][-1].endswith("test_errors_that_libraries_log_lose_their_words")


def test_a_quiet_server_tells_of_mistakes_only(serving, models):
    stream = io.StringIO()
    offered = {"failing": ServedModel("failing", "fails", Failing(models["animals"].pursuit))}
    with (
        configure_logging("quiet", stream),
        serving(offered) as address,
        httpx.Client(base_url=address) as client,
    ):
        assert client.get("/healthz").status_code == 200
        history = [{"query": "swims", "answer": "no"}]
        assert client.post("/v1/models/failing/next", json={"history": history}).status_code == 500
        lines = written(stream, 0, 2)
    assert [line.split()[2] for line in lines] == ["failed", "request"]


def test_afterwards_all_logs_are_as_before():
    logger = logging.getLogger("infopursuit")
    before = logger.handlers, logger.level, logger.propagate
    with configure_logging("json", io.StringIO()):
        assert logger.handlers != before[0]
    assert (logger.handlers, logger.level, logger.propagate) == before
