"""Questions that are answered with a number, and what is known beforehand, over HTTP."""

import json
import re

import pytest

import infopursuit as ip

NEXT, REPORT = "/v1/models/table/next", "/v1/models/table/report"


def ask(client, **body):
    answer = client.post(NEXT, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_numeric_question_says_what_its_numbers_are_like(client, models):
    scale = models["table"].pursuit.queries.scale(0)
    queries = {each["name"]: each for each in client.get("/v1/models/table").json()["queries"]}
    told = queries["size"]["number"]
    assert told == {
        "low": scale.low, "high": scale.high, "unit": "", "whole": False, "date": False,
        "thresholds": list(scale.thresholds),
    }  # fmt: skip
    assert queries["size"]["sentence"] == "What is size?"
    assert queries["colour"]["number"] is None


@pytest.mark.parametrize("said", [1.25, "1.25"])
def test_a_number_is_an_answer(client, models, said):
    history = [{"query": "size", "answer": said}]
    told = ask(client, history=history, explanation=True)
    assert told["so_far"] == ["size: 1.25"]
    explained = ip.Explanation.from_json(json.dumps(told["explanation"]))
    assert explained.steps[0].number == 1.25
    session = models["table"].pursuit.session([("size", 1.25)])
    assert list(told["posterior"].values()) == pytest.approx(session.posterior.tolist())
    whole = ask(client, history=[{"query": "size", "answer": 3}])  # JSON has no point in a whole number
    assert whole["so_far"] == ["size: 3"]


@pytest.mark.parametrize(("query", "said"), [("size", "large"), ("size", "inf"), ("colour", 1), ("size", True)])
def test_what_is_no_number_is_refused(client, query, said):
    answer = client.post(NEXT, json={"history": [{"query": query, "answer": said}]})
    assert answer.status_code == 422
    assert answer.json()["field"] == "history[0].answer"


def test_what_is_known_is_not_asked_and_does_not_count(client, models):
    known = {"size": 1.25, "colour": None}
    told = ask(client, known=known, explanation=True)
    assert told["n_asked"] == 0
    assert told["so_far"] == ["known: size: 1.25"]
    assert told["explanation"]["known"][0]["number"] == 1.25
    assert "size" not in [each["name"] for each in told["ranked"]]
    session = models["table"].pursuit.session(known={"size": 1.25})
    assert list(told["posterior"].values()) == pytest.approx(session.posterior.tolist())
    more = ask(client, known=known, history=[{"query": "colour", "answer": "red"}])
    after = session.pursuit.session([("colour", "red")], known={"size": 1.25})
    assert list(more["posterior"].values()) == pytest.approx(after.posterior.tolist())
    assert more["n_asked"] == 1
    page = client.post(REPORT, json={"known": known})
    assert re.search(r"Known beforehand:.*size:? 1\.25", page.text)


def test_the_same_answers_known_or_asked_are_told_apart(client):
    asked = ask(client, history=[{"query": "size", "answer": 0.5}])
    known = ask(client, known={"size": 0.5})
    assert (asked["n_asked"], known["n_asked"]) == (1, 0)


def test_what_cannot_be_known_together_is_a_conflict(client):
    answer = client.post("/v1/models/certain/next", json={"known": {"has fur": "yes", "has feathers": True}})
    assert answer.status_code == 409
    assert answer.json()["field"] == "known"


def test_what_is_put_aside_is_asked_when_nothing_else_is(client, models):
    first = ask(client)["question"]["name"]
    told = ask(client, later=[first])
    session = models["table"].pursuit.session().later()
    assert told["question"]["name"] == session.question.name != first
    assert told["n_asked"] == 0
    names = [each["name"] for each in client.get("/v1/models/table").json()["queries"]]
    assert ask(client, later=[first, *(name for name in names if name != first)])["question"]["name"] == first
    refused = client.post(NEXT, json={"later": ["weight"]})
    assert refused.status_code == 422
    assert refused.json()["field"] == "later"
