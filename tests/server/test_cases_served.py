"""A case over HTTP: its summary, why not another class, how many more questions, other languages, other origins."""

import httpx
import pytest

from infopursuit import case
from infopursuit.app.server import fitting, schemas
from infopursuit.app.server.language import words_for
from infopursuit.app.server.security import Embedding, Token
from infopursuit.presentation.performance import performance_of

TABLE = "/v1/models/table"
OTHER = "https://example.org"


def ask(client, verb, **body):
    answer = client.post(f"{TABLE}/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def said(**answers):
    return [{"query": name, "answer": answer} for name, answer in answers.items()]


def test_models_say_whether_they_are_cases(client):
    modes = {model["name"]: model["mode"] for model in client.get("/v1/models").json()["models"]}
    assert modes == {"certain": "game", "animals": "game", "images": "game", "table": "case", "texts": "game"}


def test_the_summary_and_the_title_are_those_of_a_session(client, models):
    pursuit = models["table"].pursuit
    for history, known in (({}, {}), ({"size": 1.5}, {}), ({"colour": "red", "size": -2.0}, {}), ({}, {"size": 0.4})):
        told = ask(client, "next", history=said(**history), known=known)
        session = pursuit.session(list(history.items()), known=known)
        assert told["summary"] == case.summary(session.explanation, pursuit.queries)
        assert told["title"] == case.title(pursuit)


def test_why_not_names_a_change_that_leads_there(client):
    history = said(size=1.5, colour="red")
    told = ask(client, "why-not", history=history, label="False")
    assert told["against"][0]["query"] == "size"
    (change,) = told["changes"]
    assert change["query"] == "size"
    changed = [{**each, "answer": change["answer"]} if each["query"] == "size" else each for each in history]
    after = ask(client, "next", history=changed)
    assert after["prediction"] == "False"
    assert after["posterior"] == pytest.approx(told["then"])
    of_known = ask(client, "why-not", known={"size": 1.5}, label="False")
    assert of_known["changes"][0]["place"] == 0
    refused = client.post(f"{TABLE}/why-not", json={"label": "perhaps"})
    assert (refused.status_code, refused.json()["field"]) == (422, "label")


def test_how_many_more_questions_to_expect(client):
    told = ask(client, "remaining")
    assert told["low"] <= told["median"] <= told["high"]
    assert str(told["median"]) in told["sentence"]
    assert ask(client, "remaining", history=said(size=2.5))["median"] == 0
    images = client.post("/v1/models/images/remaining", json={}).json()
    assert set(images) == {"median", "low", "high", "sentence"}


def test_more_asks_on_after_the_stop(client):
    history = said(size=2.5)
    stopped = ask(client, "next", history=history)
    assert stopped["question"] is None
    on = ask(client, "next", history=history, more=True)
    assert (on["question"]["name"], on["stop_reason"]) == ("colour", stopped["stop_reason"])
    assert on["why"]["answers"]
    everything = said(size=2.5, colour="red")
    assert ask(client, "next", history=everything, more=True)["question"] is None


@pytest.mark.parametrize("language", ["de-AT", "ar-XB"])
def test_texts_come_in_the_language_of_the_request(client, language):
    other, english = (ask(client, "next", language=wanted)["question"] for wanted in (language, "xx"))
    words = words_for(language)
    assert words.language != "en"
    assert other["sentence"] == words("question.number", name="size")
    assert other["choices"] == english["choices"] == english["labels"]
    assert other["labels"][0] == words("cell.up_to", high=words.number(-1.1)) != english["labels"][0]
    stopped = ask(client, "next", history=said(size=2.5), language=language)
    assert stopped["stopped_in_words"] == words(f"stop.{stopped['stop_reason']}")
    played = client.post("/v1/models/animals/next", json={"language": language}).json()["question"]
    assert (played["choices"], played["labels"]) == (["no", "yes"], [words("answer.no"), words("answer.yes")])
    assert client.post(f"{TABLE}/next", json={"language": "de_AT; rm"}).status_code == 422


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_how_often_a_model_is_right(client, models, language):
    found = client.get(TABLE, params={"language": language}).json()["performance"]
    classifier = models["table"].classifier
    assert found["sentence"] == performance_of(classifier).say(words_for(language))
    assessment, figures = classifier.assessment_, found["figures"]
    assert schemas.Performance.model_validate(found)
    assert (figures["accuracy"], figures["n_rows"]) == (assessment.accuracy, assessment.n_rows)
    assert [each["recall"] for each in figures["classes"]] == list(assessment.by_class.recall)
    assert figures["confusion"] == [list(row) for row in assessment.by_class.confusion]
    assert [each["class"] for each in figures["classes"]] == models["table"].classes
    assert client.get("/v1/models/animals").json()["performance"] is None


def test_a_report_says_what_it_is_about(client):
    history = [{"query": "size", "answer": 2.5}, {"query": "colour", "answer": None, "applies": False}]
    told = client.post(f"{TABLE}/report", json={"history": history, "language": "de", "name": "Frau M."}).text
    assert "<h1><bdi>Frau M.</bdi></h1>" in told
    words = words_for("de")
    assert '<html lang="de"' in told
    assert words("answer.not_applicable") in told
    assert words("whynot.title", **{"class": "False"}) in told
    assert client.get(TABLE, params={"language": "de"}).json()["performance"]["sentence"] in told
    assert words("performance.confusion") in told


def test_catalogues_are_served_to_the_page(client):
    told = client.get("/page/messages/ar-XB").json()
    assert told["direction"] == "rtl"
    assert "⟦" in told["texts"]["page.case"]
    assert set(client.get("/page/messages/xx").json()["languages"]) >= {"en", "de", "fr", "es", "zh"}


def test_other_origins_ask_only_where_that_was_said(serving, models, client):
    offered = {"table": models["table"]}
    plain = client.get("/", headers={"origin": OTHER})
    assert "access-control-allow-origin" not in plain.headers
    assert plain.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in plain.headers["content-security-policy"]
    embedding = Embedding(frozenset({OTHER}), (OTHER,))
    token = Token("a-token-of-thirty-two-characters")
    preflight = {"origin": OTHER, "access-control-request-method": "POST"}
    with serving(offered, embedding=embedding, token=token) as address, httpx.Client(base_url=address) as open_to:
        page = open_to.get("/", headers={"origin": OTHER})
        assert f"frame-ancestors 'self' {OTHER}" in page.headers["content-security-policy"]
        assert "x-frame-options" not in page.headers
        answer = open_to.options(f"{TABLE}/next", headers=preflight)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, OTHER)
        assert "authorization" in answer.headers["access-control-allow-headers"]
        refused = open_to.post(f"{TABLE}/next", json={}, headers={"origin": OTHER})  # the preflight opens nothing
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, OTHER)
        stranger = open_to.options(f"{TABLE}/next", headers={**preflight, "origin": "https://example.com"})
        assert "access-control-allow-origin" not in stranger.headers


@pytest.mark.parametrize("wrong", ["*", "example.org", "https://example.org/path", "https://a b", "'self'"])
def test_what_is_no_origin_is_refused(wrong):
    with pytest.raises(ValueError, match="is no origin"):
        Embedding(ancestors=(wrong,))


def test_a_table_is_fitted_and_asked_about(serving, models):
    lengths = [(37 * i % 60) / 4 for i in range(60)]
    rows = "\n".join(
        f"{length},{'red' if i % 3 else 'blue'},{'large' if length > 7 else 'small'}"
        for i, length in enumerate(lengths)
    )
    offered = {"table": models["table"]}
    with serving(offered, fit=True) as address, httpx.Client(base_url=address, timeout=120) as client:
        assert client.get("/v1/models").json()["fit"]
        for body, field in (
            ({"table": f"a,b,c\n{rows}", "label": "d"}, "label"),
            ({"table": "a,b\n1,2", "label": "b"}, "table"),
            ({"table": "a,b\n" + "1,2\n" * (fitting.MAX_ROWS + 1), "label": "b"}, "table"),
            ({"table": "a,b\n1,2\n2,2\n3,2", "label": "b"}, "table"),  # one class
        ):
            refused = client.post("/v1/fit", json=body)
            assert (refused.status_code, refused.json()["field"]) == (422, field)
        fitted = client.post(
            "/v1/fit", json={"table": f"length,colour,size\n{rows}\n", "label": "size", "language": "de"}
        ).json()
        model = fitted["model"]
        assert (model["label_name"], model["mode"], model["classes"]) == ("size", "case", ["large", "small"])
        assert "accuracy" in fitted["told"]
        assert "60 Zeilen" in fitted["performance"]["sentence"]
        assert client.get(f"/v1/models/{model['name']}?language=de").json()["performance"] == fitted["performance"]
        told = client.post(f"/v1/models/{model['name']}/next", json={"known": {"length": 14}}).json()
        assert told["prediction"] == "large"
        assert [each["name"] for each in client.get("/v1/models").json()["models"]] == [
            "table"
        ]  # is not told to others
    with serving(offered) as address, httpx.Client(base_url=address) as client:
        assert client.post("/v1/fit", json={}).status_code in (404, 405)
