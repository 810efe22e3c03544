"""Models of grey and colour images over HTTP and on the page."""

import json
import shutil

import httpx
import numpy as np
import pytest

import infopursuit as ip
from infopursuit.app.server.registry import ServedModel

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
RNG = np.random.default_rng(0)
KINDS = {"grey": {"levels": 12}, "colour": {"levels": 4, "channels": 3}}


def pursuit_of(how):
    queries = ip.queries.patches((3, 4), size=(1, 2), **how)
    probs = RNG.dirichlet(np.full(queries.n_levels, 0.3), size=(2, len(queries.variables)))
    return ip.generative_pursuit(ip.models.TableModel([0.5, 0.5], None, probs), queries, stopping=ip.MaxQueries(2))


@pytest.fixture(scope="module", name="pursuits")
def _pursuits():
    return {name: pursuit_of(how) for name, how in KINDS.items()}


@pytest.fixture(scope="module", name="address")
def _address(serving, pursuits):
    with serving({name: ServedModel(name, name, pursuit) for name, pursuit in pursuits.items()}) as found:
        yield found


@pytest.mark.parametrize("name", KINDS)
def test_levels_are_asked_and_answered(address, pursuits, name):
    pursuit, channels = pursuits[name], KINDS[name].get("channels", 1)
    image = RNG.random((3, 4) if channels == 1 else (3, 4, 3))
    trace = pursuit.run(image[None])
    with httpx.Client(base_url=address, timeout=30) as client:
        info = client.get(f"/v1/models/{name}").json()["image"]
        assert (info["levels"], info["channels"]) == (KINDS[name]["levels"], channels)
        told = client.post(f"/v1/models/{name}/explain", json={"inputs": [image.tolist()]}).json()["explanations"][0]
        assert told["text"] == str(trace[0])
        assert ip.Explanation.from_json(json.dumps(told["explanation"])) == trace[0]
        history = []
        for step in trace[0].steps:
            found = client.post(f"/v1/models/{name}/next", json={"history": history}).json()
            assert found["question"]["name"] == step.name
            patch = found["question"]["patch"]
            assert (patch["levels"], patch["channels"]) == (KINDS[name]["levels"], channels)
            history.append({"query": step.name, "answer": ("-" if name == "grey" else "").join(map(str, step.answer))})
        end = client.post(f"/v1/models/{name}/next", json={"history": history}).json()
        np.testing.assert_allclose(list(end["posterior"].values()), trace.posterior[0], atol=1e-9)
        refused = client.post(f"/v1/models/{name}/explain", json={"inputs": [[[0.1, 0.2]]]})
        assert refused.status_code == 422


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
def test_levels_are_set_with_sliders(address, pursuits):
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    complaints = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{address}/#ask")
        page.select_option("#ask select", label="colour")
        page.wait_for_selector('.levels input[aria-label$="blue"]')
        page.wait_for_function("document.querySelectorAll('.levels input').length === 6")
        for slider, level in zip(page.query_selector_all(".levels input"), "303030", strict=True):
            slider.evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", level)
        first = page.query_selector(".levels")
        assert first.evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 0, 255)"
        page.click("#ask button.answer >> text=Answer")
        said = page.wait_for_selector("#ask .said").inner_text()
        assert said == "mean red 0.50, green 0.50, blue 0.50"
        assert page.query_selector("#ask .mini i").evaluate("e => e.style.background") == "rgb(255, 0, 255)"
        browser.close()
    assert not complaints
