"""What comes back for a history is what a session says."""

import json

import httpx
import numpy as np
import pytest

import infopursuit as ip
from infopursuit.app.server.registry import ServedModel


def post(client, name, history, **options):
    answer = client.post(f"/v1/models/{name}/next", json={"history": history, **options})
    assert answer.status_code == 200, answer.text
    return answer.json()


def play(client, models, name, rng, most=6):
    """Random answers to what is asked; every turn with the session that it must agree with."""
    pursuit, history = models[name].pursuit, []
    while True:
        session = pursuit.session([(item["query"], item["answer"]) for item in history])
        yield post(client, name, history, top=100), session, history
        if session.question is None or len(history) >= most:
            return
        choices = [None, *session.question.choices]
        while True:
            picked = choices[rng.integers(len(choices))]
            try:
                pursuit.session([*session.history, (session.question.index, picked)])
                break
            except ip.ImpossibleAnswer:
                continue
        history = [*history, {"query": session.question.name, "answer": picked}]


@pytest.mark.parametrize("name", ["certain", "animals", "images", "table", "texts"])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_session(client, models, name, seed):
    for told, session, history in play(client, models, name, np.random.default_rng(seed)):
        assert told["n_asked"] == len(history) == len(told["so_far"])
        np.testing.assert_allclose(list(told["posterior"].values()), session.posterior, rtol=0, atol=1e-12)
        assert list(told["posterior"]) == [str(c) for c in session.pursuit.classes]
        assert told["prediction"] == str(session.prediction)
        assert told["stop_reason"] == session.stop_reason
        if session.question is None:
            assert told["question"] is told["why"] is None
            assert told["stopped_in_words"]
            continue
        assert told["question"]["name"] == session.question.name == told["ranked"][0]["name"]
        assert told["question"]["sentence"] == session.question.sentence
        gains = dict(zip(session.pursuit.queries.names, session.gains, strict=True))
        assert len(told["ranked"]) == np.isfinite(session.gains).sum()
        for one in told["ranked"]:
            assert one["gain"]["nats"] == pytest.approx(gains[one["name"]], abs=1e-12)
            assert one["gain"]["bits"] == pytest.approx(gains[one["name"]] / np.log(2), abs=1e-12)
        amounts = [one["gain"]["nats"] for one in told["ranked"]]
        np.testing.assert_allclose(amounts, sorted(amounts, reverse=True), rtol=0, atol=1e-9)


def test_each_answer_is_weighed(client):
    """The answers' probabilities sum to one, and what is believed now is the mixture of what would be believed then."""
    history = [{"query": "has fur", "answer": "no"}]
    told = post(client, "animals", history)
    outlooks = told["why"]["answers"]
    assert sum(one["probability"] for one in outlooks) == pytest.approx(1)
    mixed = np.zeros(6)
    for one in outlooks:
        then = post(client, "animals", [*history, {"query": told["question"]["name"], "answer": one["answer"]}])
        mixed += one["probability"] * np.array(list(then["posterior"].values()))
        best = max(then["posterior"], key=then["posterior"].get)
        assert one["then"][0]["class"] == best
        assert one["then"][0]["probability"] == pytest.approx(then["posterior"][best])
    np.testing.assert_allclose(mixed, list(told["posterior"].values()), atol=1e-12)
    assert "bits that are still open" in told["why"]["sentence"]


def test_an_answer_that_cannot_come_leads_nowhere(client, models):
    """Every patch of a certain world: some answers have no probability, and nothing is believed after them."""
    told = post(client, "certain", [{"query": "swims", "answer": "yes"}])
    assert told["question"]["name"] == "has feathers"
    told = post(client, "certain", [{"query": "swims", "answer": "yes"}, {"query": "has feathers", "answer": "no"}])
    assert (told["prediction"], told["confidence"], told["stop_reason"]) == ("carp", 1.0, "confidence")


def test_the_explanation_comes_where_it_is_asked_for(client, models):
    history = [{"query": "has fur", "answer": "no"}, {"query": "barks", "answer": None}]
    assert post(client, "animals", history)["explanation"] is None
    told = post(client, "animals", history, explanation=True)["explanation"]
    session = models["animals"].pursuit.session([("has fur", "no"), ("barks", None)])
    assert told == json.loads(session.explanation.to_json())


def test_a_patch_says_where_it_is(client, models):
    question, queries = post(client, "images", [])["question"], models["images"].pursuit.queries
    patch = question["patch"]
    assert (patch["row"], patch["column"]) == queries.corners[queries.names.index(question["name"])]
    assert (patch["rows"], patch["columns"]) == (2, 2)
    assert question["n_choices"] == 16
    assert question["choices"][3] == "0011"


def test_the_same_history_is_not_computed_twice(client):
    def cache_hits():
        lines = client.get("/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("infopursuit_cache_hits_total ")))

    history = [{"query": "is kept by people", "answer": None}]
    first = client.post("/v1/models/animals/next", json={"history": history, "top": 3})
    before = cache_hits()
    second = client.post("/v1/models/animals/next", json={"history": history, "top": 3})
    assert cache_hits() == before + 1
    assert first.content == second.content
    assert len(post(client, "animals", history, top=2)["ranked"]) == 2


def test_an_answer_that_is_not_certain(client):
    """Between one that is and none."""
    answers = ("yes", {"yes": 0.8, "no": 0.2}, {"yes": 0.5, "no": 0.5}, None)
    told = [post(client, "animals", [{"query": "has feathers", "answer": answer}]) for answer in answers]
    hen = [one["posterior"]["hen"] for one in told]
    assert hen[0] > hen[1] > hen[2] == hen[3]
    assert told[1]["so_far"] == ["has feathers: probably yes (80 %)"]


SEX, PREGNANT, LAB = "is female", "is pregnant", "lab"


@pytest.fixture(scope="module", name="pursuit")
def _pursuit():
    asked = ip.queries.groups(ip.queries.concepts([SEX, PREGNANT, "fever", "rash"]), {LAB: ["fever", "rash"]})
    model = ip.models.TableModel([0.5, 0.5], None, [[0.6, 0.9, 0.9, 0.2], [0.4, 0.1, 0.2, 0.8]])
    return ip.generative_pursuit(
        model,
        asked,
        classes=["ill", "well"],
        costs=ip.Costs({LAB: 12.5}),
        constraints=ip.Constraints({PREGNANT: (SEX, "yes")}),
        stopping=ip.Confidence(0.0) | ip.MaxCost(14),
    )


@pytest.fixture(scope="module", name="ask")
def _ask(pursuit, serving):
    with serving({"ward": ServedModel("ward", "a ward", pursuit)}) as address, httpx.Client(base_url=address) as client:

        def ask(*history):
            said = [{"query": query, "answer": answer} for query, answer in history]
            found = client.post("/v1/models/ward/next", json={"history": said, "top": 10}, timeout=30)
            assert found.status_code == 200, found.text
            return found.json()

        yield ask


def test_costs_and_panels_are_told_and_requirements_kept_to(ask):
    told = ask()
    assert {entry["name"] for entry in told["ranked"]} == {SEX, LAB}
    assert told["ranked"][0]["name"] == told["question"]["name"]
    told = ask((SEX, "yes"))
    assert (told["question"]["name"], told["question"]["cost"]) == (PREGNANT, 1.0)
    assert "for what it costs" in told["why"]["sentence"]
    assert ask((SEX, "no"))["question"]["name"] == LAB
    assert ask((SEX, None))["question"]["name"] == LAB
    panel = ask((SEX, "no"))["question"]
    assert panel["cost"] == 12.5
    assert [component["name"] for component in panel["components"]] == ["fever", "rash"]
    first, second = panel["components"]
    told = ask((SEX, "no"), (LAB, f"{first['answers'][1]}, {second['unknown']}"))
    assert told["so_far"][1] == "lab: fever: yes, rash: not known"
    assert ask((SEX, "yes"), (PREGNANT, "yes"))["stop_reason"] == "max_cost"


def test_answers_out_of_order_are_evidence(ask, pursuit):
    told = ask((PREGNANT, "yes"), (LAB, "fever: yes, rash: no"))
    session = pursuit.session([(PREGNANT, "yes"), (LAB, {"fever": "yes", "rash": "no"})])
    np.testing.assert_allclose(list(told["posterior"].values()), session.posterior, atol=1e-12)
    believed = pursuit.session([(LAB, {"fever": "yes", "rash": "no"}), (PREGNANT, "yes")]).posterior
    np.testing.assert_allclose(session.posterior, believed, atol=1e-12)
