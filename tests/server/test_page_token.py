"""The page of a server that wants a token, in a real browser."""

import shutil

import pytest

from infopursuit.app.server.security import Token

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SECRET = "a-token-of-thirty-two-characters"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
]


def test_the_token_is_asked_for_and_kept_in_the_tab(serving, models):
    arguments = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with (
        serving({"animals": models["animals"]}, token=Token(SECRET)) as address,
        playwright.sync_playwright() as driver,
    ):
        opened = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=arguments)
        page = opened.new_page()
        page.set_default_timeout(30_000)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        field = page.get_by_label("Token", exact=True)
        playwright.expect(field).to_be_focused()
        assert field.get_attribute("type") == "password"
        assert "cat" not in page.locator("body").inner_text()
        field.fill("another token, ä")
        page.keyboard.press("Enter")
        playwright.expect(page.get_by_role("alert").filter(has_text="not the right one")).to_be_visible()
        page.get_by_label("Token", exact=True).fill(SECRET)
        page.get_by_role("button", name="Open").click()
        page.locator("#ask .answers").get_by_role("button", name="Yes").click()
        playwright.expect(page.locator("#ask .eyebrow")).to_have_text("Question 2")
        assert page.locator("#token").is_hidden()
        page.reload()
        page.wait_for_selector("#ask .answers button")  # it is not asked for again
        assert SECRET not in page.url
        assert page.context.cookies() == []
        assert page.evaluate("localStorage.length") == 0
        other = opened.new_page()
        other.goto(address)
        playwright.expect(other.get_by_label("Token", exact=True)).to_be_visible()
        assert errors == []
        opened.close()
