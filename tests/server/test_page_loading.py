"""The page of a server that is still loading its models, in a real browser."""

import shutil
import threading

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
]


def test_what_is_loading_is_said_and_comes_by_itself(serving, models):
    """First nothing is there, then one of two models, which can be played, then both."""
    first, second = threading.Event(), threading.Event()

    def after(event, name):
        def load():
            assert event.wait(120)
            return models[name]

        return load

    with (
        serving({}, loaders={"animals": after(first, "animals"), "images": after(second, "images")}) as address,
        playwright.sync_playwright() as driver,
    ):
        opened = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        page = opened.new_page()
        page.set_default_timeout(30_000)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        playwright.expect(page.get_by_role("status").filter(has_text="Loading: animals, images")).to_be_visible()
        first.set()
        playwright.expect(page.get_by_role("status").filter(has_text="Loading: images")).to_be_visible()
        page.get_by_role("link", name="Animals").click()
        page.locator("#ask .answers").get_by_role("button", name="Yes").click()
        playwright.expect(page.locator("#ask .eyebrow")).to_have_text("Question 2")
        second.set()
        page.wait_for_timeout(2500)
        playwright.expect(page.locator("#ask .eyebrow")).to_have_text("Question 2")  # nobody is interrupted
        page.locator("a.brand").click()
        playwright.expect(page.locator("nav").get_by_role("link", name="Draw")).to_be_visible()
        assert page.get_by_text("Loading").count() == 0 or page.get_by_text("Loading").first.is_hidden()
        assert errors == []
        opened.close()


def test_a_view_waits_for_its_model(serving, models):
    """The server was started again under an open page."""
    event = threading.Event()
    with serving({"animals": models["animals"]}) as address, playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        page = opened.new_page()
        page.set_default_timeout(30_000)
        problem = '{"status": 503, "title": "the model is loading", "field": "name", "value": "animals"}'

        def loading(route):
            if event.is_set():
                return route.continue_()
            return route.fulfill(status=503, content_type="application/problem+json", body=problem)

        page.goto(address)
        page.wait_for_selector("#ask .answers button")
        page.route("**/next", loading)
        page.locator("#ask .answers").get_by_role("button", name="Yes").click()
        playwright.expect(page.get_by_role("alert").filter(has_text="Loading: animals")).to_be_visible()
        event.set()
        playwright.expect(page.locator("#ask .eyebrow")).to_have_text("Question 2")
        playwright.expect(page.locator("#trouble")).to_be_hidden()
        opened.close()
