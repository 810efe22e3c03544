"""The session as a form: its Python side alone, and its script in a real browser with a model that is not one."""

import json
import shutil
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.presentation.notebook.widget import MAX_BUTTONS, session_view, take
from notebook_cases import EVIL, concepts, images, table

anywidget = pytest.importorskip("anywidget", reason="anywidget is not installed: pip install anywidget")


def grey():
    return ip.generative_pursuit(
        ip.models.TableModel([0.5, 0.5], None, [[[0.7, 0.2, 0.1]] * 4, [[0.1, 0.2, 0.7]] * 4]),
        ip.queries.patches((2, 2), size=2, levels=3),
    )


def groups():
    base = ip.queries.concepts(["a", "b", "c"])
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.8, 0.3], [0.1, 0.3, 0.4]])
    return ip.generative_pursuit(model, ip.queries.groups(base, {"two": ["a", "b"]}))


# ---- Python ----------------------------------------------------------------------------------------------------------


def test_the_view_is_json_and_has_what_the_form_shows():
    session = table()[0].session(known={"colour": "red"})
    view = session_view(session)
    assert json.loads(json.dumps(view)) == view
    assert view["question"]["number"]["unit"] == "cm"
    assert "in training" in view["question"]["hint"]
    assert [(each["question"], each["answer"]) for each in view["known"]] == [("colour", "red")]
    assert sum(each["share"] for each in view["posterior"]) == pytest.approx(1)
    session.answer(90)
    view = session_view(session)
    assert view["question"] is None
    assert view["stopped"].startswith("It stopped because")
    assert view["answers"][0]["answer"] == "90 cm"


def test_few_choices_are_buttons_and_many_a_list():
    many = ip.generative_pursuit(
        ip.models.TableModel([0.5, 0.5], None, [[[0.05] * 20], [[0.02] * 10 + [0.08] * 10]]),
        _twenty(),
    )
    few, listed = (session_view(each.session())["question"] for each in (concepts(), many))
    assert few["buttons"]
    assert few["choices"] == ["no", "yes"]
    assert not listed["buttons"]
    assert len(listed["choices"]) == 20 > MAX_BUTTONS


def _twenty():
    values = [[f"letter {chr(97 + i)}"] for i in range(20)] * 3
    return ip.queries.columns(values, names=["letter"], max_categories=30)


def test_several_variables_have_a_cell_each():
    pictures = images()[0]
    session = pictures.session()
    first = session_view(session)["question"]
    assert first["columns"] == 2
    assert [cell["value"] for cell in first["cells"]] == [-1] * 4
    take(session, {"do": "answer", "value": [1, 0, 1, -1]})
    seen = session.explanation.revealed().ravel()
    cells = session_view(session)["question"]["cells"]
    asked = pictures.queries_.query_variables[session.question.index]
    assert [cell["value"] for cell in cells] == seen[asked].tolist()  # what overlapping patches have revealed
    assert session_view(session)["picture"].startswith("<svg")
    assert [len(cell["choices"]) for cell in session_view(grey().session())["question"]["cells"]] == [3] * 4
    parts = session_view(groups().session())["question"]["cells"]
    assert [cell["name"] for cell in parts] == ["a", "b"]


def test_messages_change_the_session():
    session = concepts().session()
    widget = ip.notebook.form(session)
    assert widget.session is session

    def say(**said):
        widget._handle_custom_msg(said, [])
        return widget.view

    first = session.question.sentence
    later = say(do="later")
    assert later["question"]["sentence"] != first
    say(do="answer", value="yes")
    say(do="unknown")
    assert [each["answer"] for each in say(do="not_applicable")["answers"]] == ["yes", "not known", "not applicable"]
    assert widget.view["stopped"]
    assert len(say(do="undo")["answers"]) == 2 == len(session.history)
    session.answer("no")
    widget.refresh()
    assert widget.view["answers"][-1]["answer"] == "no"


@pytest.mark.parametrize(
    "said", [{"do": "answer", "value": "perhaps"}, {"do": "answer"}, {"do": "undo"}, {"do": "delete"}, {}]
)
def test_what_cannot_be_done_is_said_and_changes_nothing(said):
    widget = ip.notebook.form(concepts().session())
    widget._handle_custom_msg(said, [])
    assert widget.view["error"]
    assert widget.view["answers"] == []
    turn = widget.view["turn"]
    widget._handle_custom_msg(said, [])
    assert widget.view["turn"] == turn + 1  # a second such answer wakes the form too


def test_the_files_are_in_the_package():
    widget = ip.notebook.form(concepts().session())
    assert "export default" in widget._esm
    assert ".ip-session" in widget._css


# ---- the script, in a browser ----------------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
START = """async ([code, css, view]) => {
  document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  const heard = [];
  window.model = {
    get: () => window.view, on: (name, call) => heard.push([name, call]),
    off: (name, call) => { window.off = [name, call]; }, send: (said) => window.reply(said).then(window.change),
  };
  window.view = view;
  window.change = (view) => { window.view = view; heard.forEach(([name, call]) => call()); };
  const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  window.stop = module.default.render({ model: window.model, el: document.body });
}"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def form(browser):
    """A page with the form of a session, which answers as a kernel would; complaints of the page fail the test."""
    pages, complaints = [], []

    def open_form(session, **options):
        page = browser.new_context(**options).new_page()
        pages.append(page)
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.sent = []
        widget = ip.notebook.form(session)

        def say(said):
            page.sent.append(said)
            widget._handle_custom_msg(said, [])
            return widget.view

        page.expose_function("reply", say)
        page.set_content("<!doctype html><title>form</title><body></body>")
        here = files("infopursuit.presentation.notebook")
        page.evaluate(START, [here.joinpath(n).read_text("utf-8") for n in ("widget.js", "widget.css")] + [widget.view])
        return page

    yield open_form
    for page in pages:
        page.context.close()
    assert complaints == []


def rows(page, label):
    return [
        [cell.inner_text() for cell in row.locator("td").all()]
        for row in page.get_by_role("table", name=label).locator("tbody tr").all()
    ]


@pytest.mark.browser
def test_a_table_is_answered_with_the_keyboard_alone(form):
    session = table()[0].session()
    page = form(session)
    assert "in training" in page.locator(".ip-note").inner_text()
    assert page.get_by_text("cm", exact=True).is_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("abc103")  # a field of numbers takes digits alone
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="large").wait_for()
    assert page.sent == [{"do": "answer", "value": "103"}]
    assert session.history
    assert rows(page, "answers so far") == [["1", "What is size?", "103 cm"]]
    assert rows(page, "probability of each class")[0][::2] == ["large", "99.9 %"]
    assert page.evaluate("document.activeElement.textContent") == "Undo"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="What is size?").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "INPUT"
    assert session.history == ()


@pytest.mark.browser
def test_choices_have_buttons_and_keys_and_names_are_no_markup(form):
    session = concepts().session()
    page = form(session)
    assert page.locator("script").count() == 0
    assert EVIL[:8] in page.locator(".ip-session").inner_text()
    page.get_by_role("button", name="yes", exact=True).click()
    page.get_by_role("row", name="yes").wait_for()
    page.keyboard.press("1")
    page.locator("tbody tr", has_text="no").first.wait_for()
    assert [said["value"] for said in page.sent] == ["yes", "no"]
    page.get_by_role("button", name="Does not apply").click()
    page.get_by_text("It stopped because").wait_for()
    assert rows(page, "answers so far")[2][2] == "not applicable"
    assert page.get_by_role("button").all_inner_texts() == ["Undo"]


@pytest.mark.browser
def test_a_wrong_answer_is_told_and_the_form_stays_usable(form):
    page = form(_dates().session())
    field = page.get_by_role("textbox")
    for text in ("tomorrow", "tomorrow", "2024-05-01"):
        field.fill(text)
        field.press("Enter")
        if text == "tomorrow":
            page.get_by_role("alert").wait_for()
            assert "is no answer" in page.get_by_role("alert").inner_text()
            assert field.is_enabled()
    page.get_by_role("table", name="answers so far").wait_for()
    assert page.get_by_role("alert").count() == 0


def _dates():
    X = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=80)})
    return ip.InformationPursuitClassifier(strategy="table", stopping=ip.MaxQueries(1)).fit(X, np.arange(80) > 40)


@pytest.mark.browser
def test_pixels_are_clicked(form):
    session = images()[0].session()
    page = form(session)
    assert page.get_by_role("img").get_attribute("aria-label").startswith("seen after 0 questions")
    pixels = page.locator(".ip-pixels button")
    assert pixels.count() == 4
    pixels.nth(0).click()
    pixels.nth(1).click(click_count=2)
    assert pixels.nth(0).get_attribute("aria-label") == "pixel 1: dark"
    page.get_by_role("button", name="Answer").click()
    page.get_by_role("table", name="answers so far").wait_for()
    assert page.sent[0] == {"do": "answer", "value": [0, 1, -1, -1]}


@pytest.mark.browser
def test_lists_for_levels_and_groups(form):
    for pursuit, choose in ((grey(), "2"), (groups(), "yes")):
        session = pursuit.session()
        page = form(session)
        lists = page.get_by_role("combobox")
        lists.nth(1).select_option(choose)
        page.get_by_role("button", name="Answer").click()
        page.get_by_role("table", name="answers so far").wait_for()
        assert session.history


@pytest.mark.browser
def test_keys_stay_in_the_form_and_a_closed_view_listens_no_more(form):
    page = form(concepts().session())
    page.evaluate("window.keys = []; document.addEventListener('keydown', (event) => window.keys.push(event.key))")
    page.keyboard.press("d")
    page.get_by_role("button", name="Later").focus()
    page.keyboard.press("d")
    assert page.evaluate("window.keys") == ["d"]
    page.evaluate("window.stop()")
    assert page.evaluate("window.off[0]") == "change:view"


@pytest.mark.browser
@pytest.mark.parametrize("colour", ["rgb(17, 17, 17)", "rgb(230, 230, 230)"])
def test_the_form_takes_the_colour_of_the_theme(form, colour):
    page = form(table()[0].session(), viewport={"width": 390, "height": 800})
    page.evaluate("(colour) => { document.body.style.color = colour }", colour)
    for name in ("h4", "input", "table td", ".ip-other"):
        assert page.evaluate("(name) => getComputedStyle(document.querySelector(name)).color", name) == colour
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
