"""Models on terms, over HTTP: costs are told, requirements kept to, panels answered; answers out of order count."""

import httpx
import numpy as np
import pytest

import infopursuit as ip
from infopursuit.server.registry import ServedModel

SEX, PREGNANT, LAB = "is female", "is pregnant", "lab"


@pytest.fixture(scope="module", name="pursuit")
def _pursuit():
    asked = ip.queries.panels(ip.queries.concepts([SEX, PREGNANT, "fever", "rash"]), {LAB: ["fever", "rash"]})
    model = ip.models.TableModel([0.5, 0.5], None, [[0.6, 0.9, 0.9, 0.2], [0.4, 0.1, 0.2, 0.8]])
    terms = ip.Terms({LAB: 12.5}, {PREGNANT: (SEX, "yes")})
    return ip.Pursuit(model, asked, classes=["ill", "well"], terms=terms, stopping=ip.Confidence(0.0) | ip.MaxCost(14))


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
    assert [thing["name"] for thing in panel["things"]] == ["fever", "rash"]
    first, second = panel["things"]
    told = ask((SEX, "no"), (LAB, f"{first['answers'][1]}, {second['unknown']}"))
    assert told["so_far"][1] == "lab: fever: yes, rash: not known"
    assert ask((SEX, "yes"), (PREGNANT, "yes"))["stopped_because"] == "max_cost"


def test_answers_out_of_order_are_evidence(ask, pursuit):
    told = ask((PREGNANT, "yes"), (LAB, "fever: yes, rash: no"))
    session = pursuit.session([(PREGNANT, "yes"), (LAB, {"fever": "yes", "rash": "no"})])
    np.testing.assert_allclose(list(told["posterior"].values()), session.posterior, atol=1e-12)
    believed = pursuit.session([(LAB, {"fever": "yes", "rash": "no"}), (PREGNANT, "yes")]).posterior
    np.testing.assert_allclose(session.posterior, believed, atol=1e-12)
