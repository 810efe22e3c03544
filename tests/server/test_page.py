"""The page as people use it, in a real browser: mouse, keys, a phone; and nothing leaves for another host."""

import html
import json
import math
import re
import shutil

import pytest

from infopursuit import shipped
from infopursuit.app.server.registry import load_models

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
GAME = "animals"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def address(serving, models):
    """The models that come along; where the game is not among them, a small one takes its place."""
    offered = load_models([name for name in shipped.names() if name in (GAME, "mnist")])
    with serving({GAME: models[GAME], **offered, "table": models["table"]}) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    arguments = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, address):
    """Opens a page; at the end it must have asked no other host, and complained of nothing."""
    contexts, requests, complaints = [], [], []

    def open_page(path="/#draw", **options):
        context = browser.new_context(viewport=options.pop("viewport", {"width": 1200, "height": 900}), **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.goto(address + path)
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert requests
    assert [url for url in requests if not url.startswith((address, "blob:", "data:"))] == []
    assert complaints == []


def draw(page, strokes):
    """Draw with the mouse; points are parts of the square."""
    box = page.locator(".pad").bounding_box()
    for stroke in strokes:
        for i, (x, y) in enumerate(stroke):
            page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
            if i == 0:
                page.mouse.down()
        page.mouse.up()


def arc(x, y, radius, start, stop):
    """Points on a circle, angles in degrees."""
    angles = [math.radians(start + (stop - start) * i / 24) for i in range(25)]
    return [(x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles]


THREE = [arc(0.47, 0.31, 0.17, -150, 90) + arc(0.47, 0.67, 0.19, -90, 150)]


def believed(page, view):
    """{class: share} as the bars tell it."""
    rows = page.locator(f"#{view} .bars li")
    return {row.locator(".name").inner_text(): row.locator(".value").inner_text() for row in rows.all()}


def test_a_three_that_is_drawn_is_read(visit):
    page = visit()
    page.wait_for_selector("#draw .bars li")
    assert len(believed(page, "draw")) == 10
    draw(page, THREE)
    assert page.locator("#draw-digit").inner_text() == "3"
    assert "It stopped because the confidence is high enough." in page.locator(".asked").inner_text()
    questions = page.locator("#draw .steps li").count()
    assert 1 <= questions <= 14
    assert f"after {questions} question" in page.locator(".verdict").inner_text()
    assert "It is 3" in page.locator("#live").text_content()


def test_every_example_is_read(visit):
    page = visit()
    for digit in range(10):
        page.get_by_role("button", name=f"Example: {digit}").click()
        page.wait_for_selector("#draw-digit", state="detached")
        assert page.locator("#draw-digit").inner_text() == str(digit)


def test_going_through_the_steps_of_a_digit(visit):
    page = visit()
    page.get_by_role("button", name="Example: 7").click()
    page.wait_for_selector("#draw-digit")
    slider = page.get_by_role("slider", name="Question")
    last = int(slider.get_attribute("max"))
    end = believed(page, "draw")
    for _ in range(last):
        page.get_by_role("button", name="Back", exact=True).click()
    assert slider.input_value() == "0"
    assert set(believed(page, "draw").values()) == {"10\u00a0%"}
    assert page.get_by_role("button", name="Back", exact=True).is_disabled()
    for _ in range(last):
        page.get_by_role("button", name="Step", exact=True).click()
    assert believed(page, "draw") == end
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert slider.input_value() == str(last - 1)
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector("#draw-digit")
    page.get_by_role("button", name="Clear").click()
    page.wait_for_selector("#draw-digit", state="detached")
    assert page.get_by_role("button", name="Play").is_disabled()


def test_what_if_a_patch_had_been_dark(visit):
    page = visit()
    page.get_by_role("button", name="Example: 5").click()
    page.wait_for_selector("#draw-digit")
    before = page.locator("#draw .steps li").count()
    page.locator("#draw .steps select").first.select_option(label="not known")
    page.wait_for_selector(".whatif")
    paths = page.locator(".whatif .path")
    assert paths.count() == 2
    assert paths.nth(0).locator("li").count() == before
    assert "not known" in paths.nth(1).locator("li").first.inner_text()
    assert page.locator("#whatif-title").evaluate("node => node === document.activeElement")
    page.get_by_role("button", name="Keep the new path").click()
    assert "not known" in page.locator("#draw .steps li").first.inner_text()


def answers_of(page, wanted="no", most=40):
    """Answer until the end; returns how many answers it took."""
    for n in range(most):
        if page.locator("#ask-verdict").count():
            return n
        number = page.locator("#ask .eyebrow").text_content()  # not as it is shown, in capitals
        page.locator("#ask .answers").get_by_role("button", name=re.compile(f"^{wanted}", re.I)).click()
        playwright.expect(page.locator("#ask .eyebrow")).not_to_have_text(number)
    raise AssertionError("the game does not end")


def test_the_game_is_played_to_its_end_and_undone(visit):
    page = visit("/#ask")
    page.wait_for_selector("#ask .answers button")
    first = page.locator("#ask-question").inner_text()
    start = believed(page, "ask")
    n = answers_of(page)
    assert n >= 1
    verdict = page.locator("#ask-verdict").inner_text()
    assert next(iter(believed(page, "ask"))) == verdict
    assert page.locator("#ask .steps li").count() == n
    for left in range(n - 1, -1, -1):
        page.get_by_role("button", name="Undo").click()
        assert page.locator("#ask .steps li").count() == left
    assert page.locator("#ask-question").inner_text() == first
    assert believed(page, "ask") == start
    assert page.get_by_role("button", name="Undo").is_disabled()


def test_an_answer_is_changed_and_both_paths_are_shown(visit):
    page = visit("/#ask")
    page.wait_for_selector("#ask .answers button")
    answers_of(page)
    old = page.locator("#ask-verdict").inner_text()
    page.locator("#ask .steps select").first.select_option(label="yes")
    page.wait_for_selector(".whatif")
    columns = page.locator(".whatif .path")
    assert columns.nth(0).locator("li").first.locator("b").inner_text() == "no"
    assert columns.nth(1).locator("li").first.locator("b").inner_text() == "yes"
    assert old in columns.nth(0).locator(".end").inner_text()
    assert "would" in page.locator(".whatif > p").inner_text()
    page.get_by_role("button", name="Back to my answers").click()
    assert page.locator("#ask-verdict").inner_text() == old
    page.locator("#ask .steps select").first.select_option(label="yes")
    page.get_by_role("button", name=re.compile("new path")).click()
    assert page.locator(".whatif").count() == 0
    assert page.locator("#ask .steps li").first.locator(".said").inner_text() == "yes"
    answers_of(page)
    assert page.locator("#ask-verdict").inner_text() != old


def test_the_reason_for_a_question_is_told(visit):
    page = visit("/#ask")
    page.wait_for_selector("#ask .why")
    assert "bits that are still open" in page.locator("#ask .why").inner_text()
    outlook = page.locator("#ask .outlook li").all_inner_texts()
    assert [line.split()[0] for line in outlook] == ["Yes", "No"]
    page.get_by_text("Questions that came close").click()
    assert page.locator("#ask .close li").first.is_visible()


def test_the_keyboard_alone_will_do(visit):
    page = visit("/")
    page.wait_for_selector("#home .choice")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Play"
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask .answers button")
    eyebrow = page.locator("#ask .eyebrow")
    for i, key in enumerate("ynd"):
        playwright.expect(eyebrow).to_have_text(f"Question {i + 1}")
        page.keyboard.press(key)
    playwright.expect(eyebrow).to_have_text("Question 4")
    said = page.locator("#ask .steps .said").all_inner_texts()
    assert said == ["yes", "no", "not known"]
    page.keyboard.press("u")
    playwright.expect(eyebrow).to_have_text("Question 3")
    assert page.evaluate("document.activeElement.textContent.startsWith('Yes')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent.startsWith('No')")
    page.keyboard.press("Enter")
    playwright.expect(eyebrow).to_have_text("Question 4")
    assert page.locator("#ask .steps .said").last.inner_text() == "no"
    assert "Question 4" in page.locator("#live").text_content()


def test_a_one_is_drawn_with_the_keys(visit):
    page = visit()
    page.wait_for_selector("#draw .bars li")
    page.locator(".pad").focus()
    for key in ["ArrowUp"] * 12 + [" "] + ["ArrowDown"] * 24 + [" "]:
        page.keyboard.press(key)
    assert page.locator("#draw-digit").inner_text() == "1"


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_sticks_out_on_a_small_screen(visit, width):
    page = visit(viewport={"width": width, "height": 740}, has_touch=True)
    page.get_by_role("button", name="Example: 2").click()
    page.wait_for_selector("#draw-digit")
    page.locator("#draw .steps select").first.select_option(label="not known")
    page.wait_for_selector(".whatif")
    widths = [page.evaluate("document.documentElement.scrollWidth")]
    page.goto(page.url.split("#")[0] + "#ask")
    page.wait_for_selector("#ask .answers button")
    answers_of(page)
    widths.append(page.evaluate("document.documentElement.scrollWidth"))
    page.goto(page.url.split("#")[0] + "docs")
    page.wait_for_selector("h2")
    widths.append(page.evaluate("document.documentElement.scrollWidth"))
    assert widths == [width] * 3


@pytest.mark.parametrize("ending", ["HTML", "JSON", "PNG"])
def test_the_explanation_is_taken_home(visit, browser, ending):
    page = visit("/#ask")
    page.wait_for_selector("#ask .answers button")
    answers_of(page)
    verdict = page.locator("#ask-verdict").inner_text()
    with page.expect_download() as waiting:
        page.locator("#ask").get_by_role("button", name=ending, exact=True).click()
    file = waiting.value
    assert file.suggested_filename == f"explanation-{GAME}.{ending.lower()}"
    content = file.path().read_bytes()
    if ending == "JSON":
        assert json.loads(content)["prediction"] == verdict
    elif ending == "PNG":
        assert content.startswith(b"\x89PNG")
    else:
        text = content.decode()
        assert re.search(rf"<h1[^>]*>.*{re.escape(verdict)}", text)
        assert not re.search(r"<script|https?://|@import", text)
        for sentence in page.locator("#ask .steps li .step-words > span").all_inner_texts():
            assert html.escape(sentence) in text


def test_the_policy_forbids_other_hosts(visit):
    page = visit()
    page.wait_for_selector("#draw .bars li")
    script = """async () => {
        const broken = new Promise((done) =>
            document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective)));
        const reached = await fetch("http://127.0.0.2:9/").then(() => true, () => false);
        return [reached, await broken];
    }"""
    assert page.evaluate(script) == [False, "connect-src"]
    assert "Content Security Policy" in visit.complaints.pop(0)
    visit.complaints.clear()


def test_a_server_that_goes_away_is_told_of_and_waited_for(visit):
    page = visit("/#ask")
    page.wait_for_selector("#ask .answers button")
    page.route("**/next", lambda route: route.abort())
    question = page.locator("#ask-question").inner_text()
    page.keyboard.press("y")
    trouble = page.get_by_role("alert")
    playwright.expect(trouble).to_contain_text("cannot be reached")
    assert page.locator("#ask-question").inner_text() == question
    page.unroute("**/next")
    page.get_by_role("button", name="Try again").click()
    playwright.expect(trouble).to_be_hidden()
    page.keyboard.press("y")
    playwright.expect(page.locator("#ask .eyebrow")).to_have_text("Question 2")
    visit.complaints.clear()  # the browser notes requests that fail


def test_what_the_server_refuses_is_shown_in_words(visit):
    told = {"status": 429, "title": "too many wait", "remedy": "try again in a second"}

    def refuse_answers(route):
        asked = route.request.post_data_json["history"]
        route.fulfill(status=429, json=told) if asked else route.continue_()

    page = visit("/#ask")
    page.route("**/next", refuse_answers)
    page.reload()  # what is on its way when a route begins may slip past it
    page.wait_for_selector("#ask .answers button")
    page.keyboard.press("y")
    playwright.expect(page.get_by_role("alert")).to_contain_text("Too many wait. Try again in a second.")
    visit.complaints.clear()


def test_everything_has_a_name(visit):
    """Buttons, fields and pictures say what they are to those who do not see them."""
    page = visit()
    page.get_by_role("button", name="Example: 4").click()
    page.wait_for_selector("#draw-digit")
    for path in ("draw", "ask"):
        nameless = page.locator(f"#{path} :is(button, select, input, canvas)").evaluate_all(
            "all => all.filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).length"
        )
        assert nameless == 0
    assert page.locator("h1:visible").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"


def test_the_api_is_described_without_the_network(visit):
    page = visit("/docs")
    page.wait_for_selector("h2")
    assert "/v1/models/{name}/next" in page.locator("main").inner_text()
