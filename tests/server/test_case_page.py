"""A case on the page, in a real browser: desktop and phone, light and dark, keys alone, languages, links."""

import contextlib
import functools
import http.server
import re
import shutil
import subprocess
import tarfile
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.app.server.registry import served
from infopursuit.app.server.security import Embedding
from infopursuit.presentation.performance import performance_of
from infopursuit.support.messages import load

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DESKTOP, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 800}
ROW = {"glucose": 150, "bmi": 31, "age": 40, "sex": "female", "smoker": "no"}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def ward():
    """A small model of a made-up diagnosis: numbers with units, a category, and yes or no."""
    rng, n = np.random.default_rng(0), 400
    glucose, bmi, age = rng.normal(110, 25, n).round(), rng.normal(27, 4, n).round(1), rng.integers(20, 80, n)
    sex, smoker = rng.choice(["female", "male"], n), rng.integers(0, 2, n)
    sick = (glucose - 110) / 25 + (bmi - 27) / 8 + smoker / 2 + rng.normal(0, 0.7, n) > 0.6
    table = np.array([glucose, bmi, age, sex, smoker], dtype=object).T
    asked = ip.queries.columns(names=list(ROW), units={"glucose": "mg/dl", "age": "years"})
    labels = pd.Series(np.where(sick, "positive", "negative"), name="diagnosis")
    clf = ip.InformationPursuitClassifier(queries=asked, strategy="table").fit(table, labels)
    clf.pursuit_ = replace(clf.pursuit_, stopping=ip.Confidence(0.02) | ip.MaxQueries(4))
    return served("ward", clf, "A ward that was made up for tests.")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def files(folder):
    """Another origin: a folder on a port of its own."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    with files(folder) as origin:
        yield origin, folder


@pytest.fixture(scope="module")
def address(serving, models, ward, other):
    embedding = Embedding(frozenset({other[0]}), (other[0],))
    with serving({"ward": ward, "animals": models["animals"]}, embedding=embedding) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, address):
    """Opens a page; at the end nothing must have gone wrong in it."""
    contexts, complaints = [], []

    def open_page(path="/?lang=en#case/ward", viewport=DESKTOP, **options):
        contexts.append(browser.new_context(viewport=viewport, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.goto(path if path.startswith("http") else address + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def about(page):
    """The column that is asked about."""
    asked = page.locator("#case-question").inner_text()
    return next(name for name in ROW if re.search(rf"\b{name}\b", asked))


def steps(page):
    return page.locator("#case .steps li")


def reply(page):
    """Answer the question as the row has it."""
    page.wait_for_selector("#case .answers :is(input, button)")
    n, name = steps(page).count(), about(page)
    field = page.locator("#case .answers input")
    if field.count():
        field.fill(str(ROW[name]))
        page.keyboard.press("Enter")
    else:
        page.locator("#case .answers").get_by_role("button", name=re.compile(ROW[name], re.I)).click()
    playwright.expect(steps(page)).to_have_count(n + 1)


def to_the_end(page):
    for _ in ROW:
        if page.locator("#case-verdict").count():
            return
        reply(page)
    playwright.expect(page.locator("#case-verdict")).to_be_visible()


def other_class(page):
    return page.locator("#case .bars li:not(.best)").first


def test_a_case_is_answered_with_numbers_to_its_end(visit):
    page = visit()
    playwright.expect(page.locator("h1:visible")).to_have_text("Diagnosis: negative or positive?")
    summary = page.locator("#case-summary")
    assert re.match(r"Negative in \d+\s% of all cases; nothing is known of this one\.", summary.inner_text())
    playwright.expect(page.locator("#case-remaining")).to_contain_text(re.compile(r"Expect \d more question"))
    assert "glucose" in page.locator("#case-question").inner_text()
    assert page.locator(".unit").inner_text() == "mg/dl"
    page.locator("#case .answers input").fill("150")
    page.get_by_text("Why this question?").first.click()
    assert "narrow the case down most" in page.locator(".why-body").inner_text()
    assert "bits" not in page.locator(".why-body").inner_text()  # behind the details
    assert page.locator(".outlook-table tbody tr").count() > 3
    page.keyboard.press("Escape")
    to_the_end(page)
    assert "glucose is high (150 mg/dl)" in summary.inner_text()
    assert page.locator("#case-verdict").inner_text() == "positive"
    asked = steps(page).count()
    page.get_by_role("button", name="Ask one more question").click()
    playwright.expect(page.locator("#case .eyebrow")).to_have_text(f"Question {asked + 1}")
    reply(page)


def test_how_often_it_is_right_is_on_the_page(visit, ward):
    page = visit("/?lang=de#case/ward", viewport=PHONE)
    playwright.expect(page.locator("#case-performance p")).to_have_text(performance_of(ward.classifier).say(load("de")))
    assert page.locator("#case-performance table:visible").count() == 0
    page.locator("#case-performance summary").click()
    by_class, confusion = page.locator("#case-performance table:visible").all()
    rows = [row.locator("th, td").all_inner_texts() for row in by_class.locator("tr").all()]
    assert rows == performance_of(ward.classifier).class_table(load("de"), "diagnosis")
    rows = [row.locator("th, td").all_inner_texts() for row in confusion.locator("tr").all()]
    assert rows == performance_of(ward.classifier).confusion_table(load("de"))
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_decimal_commas_are_read_and_numbers_outside_training_are_named(visit):
    page = visit()
    field = page.locator("#case .answers input")
    field.fill("9999")
    playwright.expect(page.locator("#answer-outside")).to_contain_text("Outside the range in training")
    field.fill("many")
    field.press("Enter")
    assert steps(page).count() == 0
    field.fill("150,5")
    assert page.locator("#answer-outside").inner_text() == ""
    field.press("Enter")
    playwright.expect(page.locator("#case-summary")).to_contain_text("150.5 mg/dl")


def test_what_is_known_is_pasted_and_not_asked(visit):
    page = visit()
    page.get_by_text("What is already known").click()
    page.get_by_label("Paste a row").fill("Glucose;SEX;patient\n150,0;female;4711")
    status = page.locator(".known [role=status]")
    playwright.expect(status).to_have_text("2 of 5 columns found. Not asked about: patient.")
    page.get_by_label("Paste a row").fill('{"bmi": 31, "smoker": false}')
    page.get_by_role("button", name="Use these values").click()
    playwright.expect(page.locator(".known-list li")).to_have_count(4)
    assert page.locator("#case-verdict").count() or about(page) == "age"
    assert "glucose is high" in page.locator("#case-summary").inner_text()
    page.reload()
    playwright.expect(page.locator(".known-list li")).to_have_count(4)


def test_answers_that_are_none(visit):
    page = visit()
    page.wait_for_selector("#case .answers input")
    first = about(page)
    page.get_by_role("button", name="Later").click()
    playwright.expect(page.locator("#case-question")).not_to_contain_text(first)
    assert steps(page).count() == 0
    page.get_by_role("button", name="Don't know").click()
    playwright.expect(steps(page)).to_have_count(1)
    page.get_by_role("button", name="Does not apply").click()
    playwright.expect(steps(page)).to_have_count(2)
    assert page.locator(".said").all_inner_texts() == ["not known", "does not apply"]
    page.get_by_role("button", name="Stop here").click()
    assert "You stopped it here." in page.locator("#case .ask-card").inner_text()
    page.reload()
    page.get_by_role("button", name="Continue").click()
    assert page.locator(".said").all_inner_texts() == ["not known", "does not apply"]
    assert page.locator("#case .answers :is(input, button)").count()


def test_why_not_the_other_class(visit):
    page = visit()
    to_the_end(page)
    name = other_class(page).locator(".name").inner_text()
    other_class(page).get_by_role("button").click()
    panel = page.locator(".whynot")
    assert panel.locator("h2").inner_text() == f"Why not {name}?"
    assert "Against negative" in panel.inner_text()
    assert "It would be negative" in panel.inner_text()
    page.get_by_role("button", name="Show this change").click()
    columns = page.locator(".whatif .path")
    playwright.expect(columns).to_have_count(2)
    before, after = (column.locator("li > span:first-child").all_inner_texts() for column in columns.all())
    assert len(before) == len(after)
    assert 1 <= sum(old != new for old, new in zip(before, after, strict=True)) <= 3
    assert "it would be negative" in page.locator(".whatif > p").inner_text()


def test_an_answer_is_changed_and_kept(visit):
    page = visit()
    to_the_end(page)
    page.locator("#case .change input").first.fill("80")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#whatif-title")).to_be_focused()
    assert page.locator(".whatif .changed b").all_inner_texts() == ["150 mg/dl", "80 mg/dl"]
    page.locator(".whatif button.main").click()
    assert page.locator(".said").first.inner_text() == "80 mg/dl"


def test_a_reload_and_a_link_bring_the_case_back(visit):
    page = visit()
    reply(page)
    reply(page)
    shown = page.locator("#case-summary").inner_text(), page.locator(".said").all_inner_texts()
    page.reload()
    playwright.expect(steps(page)).to_have_count(2)
    again = visit(page.url)
    playwright.expect(steps(again)).to_have_count(2)
    for each in (page, again):
        assert (each.locator("#case-summary").inner_text(), each.locator(".said").all_inner_texts()) == shown
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_the_keyboard_alone_on_a_dark_phone(visit):
    page = visit(viewport=PHONE, color_scheme="dark", has_touch=True)
    field = page.locator("#case .answers input")
    field.wait_for()
    field.focus()
    page.keyboard.type("150")
    page.keyboard.press("Enter")
    playwright.expect(steps(page)).to_have_count(1)
    assert page.evaluate("document.activeElement.closest('.answers') !== null")  # the next one can be answered at once
    for _ in range(12):
        if page.evaluate("document.activeElement.textContent") == "Don't know":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".said").last).to_have_text("not known")
    assert page.locator(".summary").bounding_box()["y"] < 400  # the outcome comes first
    page.get_by_text("What is already known").click()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize(("language", "direction"), [("de", "ltr"), ("ar-XB", "rtl")])
def test_other_languages(visit, language, direction):
    page = visit(f"/?lang={language}#case/ward", viewport=PHONE)
    reply(page)
    root = page.locator("html")
    assert (root.get_attribute("lang"), root.get_attribute("dir")) == (language, direction)
    assert page.locator(".said").first.inner_text() == "150 mg/dl"
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    if direction == "rtl":
        texts = page.locator("#case :is(button, summary, h1, h2, .summary):visible").all_inner_texts()
        assert [text for text in texts if "⟦" not in text and text not in ("HTML", "JSON", "PNG")] == []
        bar = page.locator("#case .bars li").first
        assert bar.locator(".name").bounding_box()["x"] > bar.locator(".value").bounding_box()["x"]
    else:
        assert page.locator("#language").input_value() == "de"
        page.locator("#language").select_option("en")
        playwright.expect(page.locator("html")).to_have_attribute("lang", "en")
        playwright.expect(steps(page)).to_have_count(1)  # another language, the same case


def test_the_language_of_the_browser_is_taken(visit):
    page = visit("/#case/ward", locale="de-AT")
    page.wait_for_selector("#case .answers input")
    assert page.locator("html").get_attribute("lang") == "de"


def test_it_is_embedded_in_a_page_of_another_origin(visit, address, other):
    origin, folder = other
    icon = '<link rel=icon href="data:,">'
    frame = f'<iframe src="{address}/?embed&lang=en#case/ward" width=700 height=900></iframe>'
    (folder / "frame.html").write_text(icon + frame)
    script = f"""
        import {{ InfopursuitClient }} from "{address}/page/client.js";
        const client = new InfopursuitClient("{address}");
        const {{ models }} = await client.models();
        const known = {{ glucose: 150 }};
        const first = await client.next("ward", {{ known }});
        const why = await client.whyNot("ward", {{ known }}, "negative");
        const left = await client.remaining("ward", {{ known }});
        const report = await client.report("ward", {{ known }});
        document.title = [models[0].name, first.prediction, why.label, left.median >= 0, report.size > 1000].join();
    """
    (folder / "client.html").write_text(f'{icon}<script type="module">{script}</script>')
    page = visit(f"{origin}/client.html")
    playwright.expect(page).to_have_title("ward,positive,negative,true,true")
    page = visit(f"{origin}/frame.html")
    framed = page.frame_locator("iframe")
    framed.locator("#case .answers input").fill("150")
    page.keyboard.press("Enter")
    playwright.expect(framed.locator("#case .steps li")).to_have_count(1)
    assert framed.locator("header").is_hidden()


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The source of axe-core, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: apt-get install npm")
    done = subprocess.run([npm, "pack", "axe-core@4", "--silent"], cwd=folder, capture_output=True, timeout=60)
    if done.returncode:
        pytest.skip("axe-core cannot be had from npm")
    with tarfile.open(next(folder.glob("*.tgz"))) as pack:
        source = pack.extractfile("package/axe.min.js")
        return source.read().decode()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, address, axe, scheme):
    page = visit("/?lang=en", color_scheme=scheme, bypass_csp=True)
    page.wait_for_selector("#home .choice")

    def check(where):
        page.evaluate(axe)
        found = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})")
        bad = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
        assert [(where, each["id"], each["nodes"][0]["html"][:200]) for each in bad] == []

    check("home")
    page.goto(f"{address}/?lang=en#case/ward")
    reply(page)
    page.locator("#case-performance summary").click()
    page.get_by_text("What is already known").click()
    page.get_by_text("Why this question?").first.click()
    check("question")
    to_the_end(page)
    other_class(page).get_by_role("button").click()
    page.wait_for_selector(".whynot")
    check("why not")
    page.get_by_role("button", name="Show this change").click()
    page.wait_for_selector(".whatif")
    check("what if")
    page.goto(f"{address}/?lang=en#ask/animals")
    page.wait_for_selector("#ask .answers button")
    check("game")


HOSTILE = '<img src=x onerror="window.owned=1">\'"><svg/onload=window.owned=1>{{7*7}}${window.owned=1}'


def test_words_from_outside_are_text(visit, serving):
    """Names of columns, categories, labels and the summary are shown as they are, and run nothing."""
    y = np.arange(80) % 2
    table = pd.DataFrame({f"{HOSTILE} a": y + 0.1 * np.arange(80), f"{HOSTILE} b": np.array(["u", "v"])[y] + HOSTILE})
    labels = pd.Series(np.array(["no", "yes"])[y] + HOSTILE, name=f"{HOSTILE} label")
    clf = ip.InformationPursuitClassifier(ip.queries.columns(), "table", stopping=ip.MaxQueries(2)).fit(table, labels)
    with serving({"evil": served("evil", clf, HOSTILE)}) as address:
        page = visit(f"{address}/?lang=en#case/evil")
        for _ in range(2):
            page.wait_for_selector("#case .answers :is(input, button)")
            n, field = steps(page).count(), page.locator("#case .answers input")
            if field.count():
                field.fill("3")
                page.keyboard.press("Enter")
            else:
                page.locator("#case .answers button").first.click()
            playwright.expect(steps(page)).to_have_count(n + 1)
        playwright.expect(page.locator("#case-verdict")).to_be_visible()
        assert HOSTILE in page.locator("#case").inner_text()
        assert page.evaluate("window.owned") is None
        assert page.locator("img[src=x]").count() == 0
