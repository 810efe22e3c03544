"""The page: whole, safe, without a network, and true to the trace."""

import base64
import dataclasses
import hashlib
import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

import infopursuit as ip
from infopursuit import case
from infopursuit.app.datasets import digits
from infopursuit.presentation.report.page import leading_classes, png
from infopursuit.presentation.report.summary import Summary
from infopursuit.support import messages

BAD = '<script>alert("1")</script>'
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Tags, texts and what is wrong with their nesting."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def pursuit(names=("has fur", "can fly", "swims"), classes=("cat", "owl", "carp"), **options):
    probs = [[0.95, 0.05, 0.1], [0.1, 0.9, 0.05], [0.02, 0.05, 0.95]]
    model = ip.models.TableModel([0.5, 0.3, 0.2], None, probs)
    return ip.generative_pursuit(model, ip.queries.concepts(list(names), **options), classes=list(classes),
                      stopping=ip.Confidence(0.02))  # fmt: skip


X = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, np.nan, 0]]


@pytest.fixture(scope="module")
def images():
    data = digits()
    queries = ip.queries.patches((8, 8), size=3, threshold=7)
    stopping = ip.Confidence(0.05) | ip.MaxQueries(4)
    clf = ip.InformationPursuitClassifier(queries, ip.models.naive_bayes(), stopping=stopping)
    clf.fit(data.x_train[:300], data.y_train[:300])
    return clf.explain(data.x_test[:6]), data.x_test[:6], data.y_test[:6]


def test_the_page_tells_what_the_trace_holds():
    trace = pursuit().run(X)
    reader = read(ip.report.write(trace, truth=["cat", "owl", "carp", "owl"], names=["Tom", "Uhu", "Karl", "x"]))
    words = " ".join(" ".join(reader.texts).split())
    assert reader.tags.count("article") == 4
    for i, explanation in enumerate(trace):
        for step in explanation.steps:
            assert step.sentence in words
            assert f"information gain {step.gain / np.log(2):.2f} bits" in words
        assert str(explanation.prediction) in words, i
    for expected in ("75.0 %", f"{trace.length.mean():.1f}", "Tom", "Single explanations", "not known", "wrong"):
        assert expected in words, expected


def test_nothing_is_loaded_and_nothing_runs(images):
    trace, X, y = images
    page = ip.report.write(trace, images=X, truth=y)
    reader = read(page)
    assert reader.tags.count("script") == 1  # the filters
    assert "script" not in read(ip.report.write(trace[0], image=X[0])).tags
    for tag, name, value in reader.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "style"
        if name in ("src", "href"):
            assert value.startswith(("data:image/png;base64,", "#e"))
    pictures_aside = re.sub(r'"data:image/png;base64,[^"]*"', "", page)
    assert not re.search(r"https?://|//[a-z]|@import|url\(", pictures_aside)
    policy = next(v for tag, name, v in reader.attributes if tag == "meta" and name == "content" and "default-src" in v)
    style = re.search("<style>(.*?)</style>", page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert f"style-src 'sha256-{digest}'" in policy
    script = re.search("<script>(.*?)</script>", page, re.DOTALL).group(1)
    assert f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy


def test_words_from_outside_are_never_markup():
    names = [f"{BAD} fur", "\"onload='x'", "a & b\x00\x1b[31m\ud800"]
    trace = pursuit(names, [BAD, "</title><b>", "carp"], choices=[["<no>", BAD]] * 3).run(X)
    page = ip.report.write(trace, truth=[BAD, "</title><b>", "<i>", BAD], names=[BAD] * 4, title=BAD)
    reader = read(page)
    assert reader.tags.count("script") == 1
    assert not {"b", "i", "no"} & set(reader.tags)
    assert BAD in "".join(reader.texts)
    assert not any(name.startswith("on") for _, name, _ in reader.attributes)
    assert "\x00" not in page
    assert "\x1b" not in page
    page.encode()
    read(ip.report.write(trace[0], truth="<i>", title=BAD))


def test_an_upper_bound_that_is_said_aloud():
    trace = pursuit().run(X * 20)
    page = ip.report.write(trace, max_inputs=3)
    assert page.count("<article") == 3
    assert "Here are the first 3 of 80." in page
    assert ip.report.write(trace).count("<article") == 50
    assert ip.report.write(trace, max_inputs=0).count("<article") == 0


def test_the_summary_counts():
    trace = pursuit().run(X)
    summary = Summary().add(trace, ["cat", "owl", "carp", "owl"])
    assert (summary.n_inputs, summary.n_right) == (4, 3)
    assert summary.mean_length == trace.length.mean()
    assert sum(summary.first.values()) == 4
    assert sum(summary.asked.values()) == trace.length.sum()
    assert Summary.from_spec(json.loads(json.dumps(summary.to_spec()))) == summary
    twice = Summary().add(trace).add(trace)
    assert twice.n_right is None
    assert twice.n_inputs == 8
    assert sum(count for _, count in twice.length_groups()) == 8
    twice.lengths.update(range(100))
    assert len(twice.length_groups()) <= 10
    assert sum(count for _, count in twice.length_groups()) == 108


def test_one_explanation_and_files(tmp_path):
    explanation = pursuit().run(X)[0]
    page = ip.report.write(explanation, tmp_path / "one.html", truth="cat", title="Warum?")
    assert (tmp_path / "one.html").read_text(encoding="utf-8") == page
    assert page.count("<article") == 1
    assert "Warum?" in page
    assert ip.report.write(ip.Explanation.from_json(explanation.to_json()), truth="cat", title="Warum?") == page
    session = pursuit().session()
    assert "It has not stopped yet." in ip.report.write(session.explanation)


def test_headings_and_pictures_are_for_everybody(images):
    trace, X, y = images
    page = ip.report.write(trace, images=X, truth=y)
    reader = read(page)
    assert reader.tags.count("h1") == 1
    levels = [int(tag[1]) for tag in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for svg in re.findall("<svg[^>]*>", page):
        assert 'role="img" aria-label="' in svg or 'aria-hidden="true"' in svg
    assert ("html", "lang", "en") in reader.attributes
    for svg in re.findall("<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


def test_the_picture_shows_what_was_asked_and_no_more(images):
    trace, X, _ = images
    explanation = trace[0]
    page = ip.report.write(explanation, image=X[0])
    drawn = [decode(uri) for uri in re.findall(r'href="data:image/png;base64,([^"]+)"', page)]
    assert len(drawn) == 2 * (len(explanation) + 1)
    assert np.array_equal(drawn[0], np.round(255 * X[0].astype(float) / X[0].max()))
    seen = explanation.revealed()
    last = drawn[-1]
    assert np.array_equal((last[..., 0] == 128), seen == -1)
    assert np.array_equal((last[..., 0] == 255), seen == 1)
    without = ip.report.write(explanation)
    assert without.count("<image") == len(explanation) + 1
    with pytest.raises(ValueError, match="images of shape"):
        ip.report.write(explanation, image=np.zeros((3, 3)))


def decode(content):
    """Pixels of a PNG, read by another program."""
    import io

    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))


def test_png_of_every_kind():
    rng = np.random.default_rng(0)
    for shape in ((3, 5), (1, 1), (4, 2, 3)):
        pixels = rng.integers(0, 256, shape).astype(np.uint8)
        assert np.array_equal(decode(png(pixels).removeprefix("data:image/png;base64,")), pixels)


def test_long_explanations_show_what_mattered():
    n = 40
    model = ip.models.TableModel([0.5, 0.5], None, np.stack([np.full(n, 0.52), np.full(n, 0.48)]))
    trace = ip.generative_pursuit(model, ip.queries.concepts([f"q{i}" for i in range(n)])).run([[1] * n])
    page = ip.report.write(trace)
    assert "Here are 20 of the 40 steps" in page
    assert page.count('<li class="step">') == 21


def test_many_classes_share_a_bar_and_the_true_one_has_its_own():
    n = 30
    model = ip.models.TableModel(np.full(n, 1 / n), None, np.eye(n) * 0.9 + 0.05)
    trace = ip.generative_pursuit(model, ip.queries.concepts([f"q{i}" for i in range(n)])).run(np.eye(n)[[7]])
    shown = leading_classes(trace[0], truth=23)
    assert {7, 23} <= set(shown)
    assert len(shown) == 4
    assert "26 others" in ip.report.write(trace, truth=[23])


def test_wording_is_on_the_page():
    from infopursuit.queries.wording import Wording, reword

    p = pursuit()
    worded = reword(p.queries, {"has fur": Wording("هل لديه فرو؟", {"yes": "نعم"})})
    page = ip.report.write(ip.generative_pursuit(p.model, worded, classes=["cat", "owl", "carp"]).run(X))
    assert "<bdi>هل لديه فرو؟</bdi>" in page
    assert "<bdi>نعم</bdi>" in page


@pytest.mark.parametrize(
    "options", [{"max_inputs": -1}, {"truth": ["cat"]}, {"names": ["a"]}, {"images": np.zeros((2, 8, 8))}]
)
def test_what_does_not_fit_is_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        ip.report.write(pursuit().run(X), **options)


def test_an_empty_trace_has_a_page_too():
    assert "There are no inputs." in ip.report.write(pursuit().run(np.zeros((0, 3))))


# ---- cases, languages, the index ------------------------------------------------------------------------------------


def test_a_report_of_a_case_says_what_it_is_about():
    session = pursuit().session()
    while session.question is not None:
        session.answer("yes")
    about = case.about(session, name="Tom & co", model="pets", version="abc123")
    page = ip.report.write(session.explanation, about=about, truth="owl")
    words = " ".join(" ".join(read(page).texts).split())
    for expected in (
        "Tom & co", about.summary, about.date, "pets, version abc123", "follow from the stated model",
        *about.why_not, "True class owl",
    ):  # fmt: skip
        assert expected in words, expected
    assert words.index(about.summary) < words.index("Questions and answers")
    other = dataclasses.replace(session.explanation, label_name="animal")
    assert f"animal: {other.prediction} (" in ip.report.write(other)


@pytest.mark.parametrize("language", [*messages.LANGUAGES, messages.PSEUDO])
def test_a_page_is_in_one_language(language):
    trace, t = pursuit().run(X), messages.load(language)
    for page in (
        ip.report.write(trace, language=language, truth=["cat"] * 4),
        ip.report.write(trace[0], language=language),
    ):
        reader = read(page)
        assert ("html", "lang", t.language) in reader.attributes
        assert ("html", "dir", t.direction) in reader.attributes
        assert t("report.before") in "".join(reader.texts)
        assert t.question(trace[0].steps[0]) in "".join(reader.texts)
    assert t("questions", n=len(trace[0])) in trace[0].to_text(language=language)


def test_the_index_has_every_input_and_leads_to_explanations():
    trace = pursuit().run(X * 20)
    page = ip.report.write(trace, max_inputs=3, names=[f"n{i}" for i in range(80)], truth=["cat"] * 80)
    assert page.count('<th scope="row">') == 80
    assert re.findall('<a href="#(e[0-9]+)">', page) == ["e1", "e2", "e3"] == re.findall('<details id="([^"]+)">', page)
    head = re.search("<thead>.*?</thead>", page, re.DOTALL)[0]
    assert re.findall('<th scope="col"[^>]*>(?:<bdi>)?([^<]+)', head) == [
        "Name", "Prediction", "Confidence", "Questions", "Correct",
    ]  # fmt: skip
    assert "<details open" not in page


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
def test_filters_links_and_paper_in_a_browser(tmp_path):
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    trace = pursuit().run(X * 20)
    ip.report.write(trace, tmp_path / "batch.html", truth=["cat"] * 80)
    ip.report.write(trace[0], tmp_path / "case.html")
    with driver.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page, said = browser.new_page(), []
        page.on("console", lambda message: said.append(message.text))
        page.goto((tmp_path / "batch.html").as_uri())
        assert page.locator("#count").text_content() == "80 of 80 inputs"
        page.select_option("select[name=class]", "cat")
        n = sum(each == "cat" for each in trace.predictions)
        assert page.locator("tbody tr:visible").count() == n
        page.select_option("select[name=right]", "no")
        assert page.locator("#count").text_content() == "0 of 80 inputs"
        for name in ("class", "right"):
            page.select_option(f"select[name={name}]", "")
        n_pages = {"batch": pages(page.pdf(prefer_css_page_size=True))}
        page.click("tbody a >> nth=2")
        page.wait_for_selector("details[open]")  # the page opens it once the browser has told it of the new address
        assert page.locator("details[open]").count() == 1
        page.goto((tmp_path / "case.html").as_uri())
        n_pages["case"] = pages(page.pdf(prefer_css_page_size=True))
        browser.close()
    assert said == []  # no refused script or style
    assert n_pages["case"] == 1
    assert n_pages["batch"] <= 4


def pages(pdf):
    return len(re.findall(rb"/Type\s*/Page[^s]", pdf))
