"""Bad requests are refused with a word that helps, and nothing that is sent makes the server fail."""

import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.app.server.limits import Limits

NEXT = "/v1/models/animals/next"
JSON = {"content-type": "application/json"}


def refused(answer, status, field, *words):
    """A problem that names the field and the remedy."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["field"] == field
    assert told["remedy"]
    for word in words:
        assert word in json.dumps(told, ensure_ascii=False)


@pytest.mark.parametrize(
    ("body", "field", "word"),
    [
        ({"history": [{"query": "flies", "answer": "yes"}]}, "history[0].query", "flies"),
        ({"history": [{"query": "barks", "answer": "perhaps"}]}, "history[0].answer", "'no', 'yes'"),
        ({"history": [{"query": "barks"}]}, "history[0].answer", "required"),
        ({"history": [{"query": "barks", "answer": 1}]}, "history[0].answer", "'no', 'yes'"),
        ({"history": [{"query": "barks", "answer": True}]}, "history[0].answer", "string"),
        ({"known": {"flies": "yes"}}, "known", "flies"),
        ({"known": {"barks": "perhaps"}}, "known", "perhaps"),
        ({"known": {"barks": ["yes"]}}, "known.barks", "valid"),
        ({"known": ["barks"]}, "known", "barks"),
        ({"known": {str(i): 1 for i in range(257)}}, "known", "257"),
        ({"history": [{"query": "barks", "answer": {"yes": 0.9, "no": 0.9}}]}, "history[0].answer", "sum to 1"),
        ({"history": [{"query": "barks", "answer": {"yes": 2.0}}]}, "history[0].answer", "yes"),
        ({"history": [{"query": "barks", "answer": {"perhaps": 1.0}}]}, "history[0].answer", "'no', 'yes'"),
        ({"history": [{"query": "barks", "answer": {str(i): 0.0 for i in range(101)}}]}, "history[0].answer", "..."),
        ({"history": [{"query": 3, "answer": "yes"}]}, "history[0].query", "string"),
        ({"history": "barks"}, "history", "list"),
        ({"history": [["barks", "yes"]]}, "history[0]", "barks"),
        ({"history": [], "top": 1000}, "top", "1000"),
        ({"history": [], "top": -1}, "top", "-1"),
        ({"history": [], "path": "/etc"}, "path", "/etc"),
        ([], "body", "[]"),
        ({"history": [{"query": "a" * 5000, "answer": None}]}, "history[0].query", "..."),
        ({"history": [{"query": "barks", "answer": None}] * 257}, "history", "257"),
    ],
)
def test_what_does_not_fit_is_named(client, body, field, word):
    refused(client.post(NEXT, json=body), 422, field, word)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"history": ' + b"9" * 9000 + b"}", b"null"]
)
def test_what_is_not_json_is_refused(client, content):
    answer = client.post(NEXT, content=content, headers=JSON)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["title"]


def test_a_model_that_is_not_there(client):
    refused(client.get("/v1/models/none"), 404, "name", "none", "animals")
    refused(client.post("/v1/models/none/next", json={}), 404, "name", "none", "animals")


def test_answers_that_cannot_be(client):
    history = [{"query": "has fur", "answer": "yes"}, {"query": "has feathers", "answer": "yes"}]
    refused(client.post("/v1/models/certain/next", json={"history": history}), 409, "history[1]", "has feathers: yes")


@pytest.mark.parametrize(
    ("name", "inputs", "field"),
    [
        ("images", [[1, 2, 3]], "inputs[0]"),
        ("images", ["text"], "inputs[0]"),
        ("images", [[[0] * 5] * 4, {}], "inputs[1]"),
        ("images", [[[0.5] * 5] * 4], "inputs"),
        ("images", [[[10**400] * 5] * 4], "inputs[0]"),
        ("table", [[1, 2, 3]], "inputs[0]"),
        ("table", [{"weight": 1}], "inputs[0]"),
        ("table", [{"size": [1]}], "inputs[0].size"),
        ("table", [["much", "red"]], "inputs"),
        ("texts", [5], "inputs[0]"),
        ("table", [[10**400, "red"]], "inputs"),
        ("animals", [[1, 0, 5, 0, 0]], "inputs"),
        ("animals", [[10**400, 0, 0, 0, 0]], "inputs"),
        ("animals", [["maybe", 0, 0, 0, 0]], "inputs"),
        ("animals", [], "inputs"),
        ("animals", [[0] * 5] * 65, "inputs"),
    ],
)
def test_inputs_that_do_not_fit(client, name, inputs, field):
    answer = client.post(f"/v1/models/{name}/explain", content=json.dumps({"inputs": inputs}), headers=JSON)
    refused(answer, 422, field)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["barks", "yes"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["history", "inputs", "query", "answer", "top"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(body=ANYTHING, name=st.sampled_from(["animals", "images", "table", "texts"]))
@pytest.mark.parametrize("path", ["next", "explain"])
def test_nothing_that_is_sent_makes_it_fail(client, path, body, name):
    """Whatever is sent: lone surrogates, NaN, numbers without end; also wrapped so that it gets far."""
    rows = {"inputs": [body]} if not isinstance(body, list) else {"inputs": [(body * 5)[:5], (body * 2)[:2]]}
    for sent in (body, rows, {"history": [{"query": "barks", "answer": body}]}):
        answer = client.post(f"/v1/models/{name}/{path}", content=json.dumps(sent), headers=JSON)
        assert answer.status_code < 500, (sent, answer.text)
        answer.json()


def test_bodies_that_are_long_or_slow_are_not_read(models, serving):
    with serving({"animals": models["animals"]}, Limits(max_body=1000, timeout=1.0)) as address:
        with httpx.Client(base_url=address) as client:
            answer = client.post(NEXT, content=b" " * 1001)
            assert answer.status_code == 413
            assert "1000" in answer.json()["title"]
            answer = client.post(NEXT, content=(b" " * 500 for _ in range(3)))  # without a length
            assert answer.status_code == 413
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port)) as slow:
            slow.sendall(f"POST {NEXT} HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{{".encode())
            slow.settimeout(60)
            assert b"408" in slow.recv(100)


def test_other_names_of_the_machine_are_refused(models, serving):
    with serving({"animals": models["animals"]}, hosts=frozenset({"localhost", "127.0.0.1"})) as address:
        assert httpx.get(f"{address}/healthz").status_code == 200
        answer = httpx.get(f"{address}/healthz", headers={"host": "evil.example:80"})
        refused(answer, 421, "Host", "evil.example")
