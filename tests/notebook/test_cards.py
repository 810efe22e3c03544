"""What notebooks show: self-contained HTML, escaped and accessible; and reprs of one to three lines."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context

import infopursuit as ip
from infopursuit import case
from infopursuit.presentation.performance import performance_of
from infopursuit.support.messages import load
from notebook_cases import EVIL, concepts, images, table


class Reader(HTMLParser):
    """Checks that elements are closed in their order, and collects them."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def answered(pursuit, *answers, known=None):
    session = pursuit.session(known=known)
    for answer in answers:
        session.answer(answer)
    return session


def things():
    clf, X = table()
    pictures, P = images()
    evil = concepts()
    return {
        "classifier": clf,
        "classifier of images": pictures,
        "trace": clf.explain(X[:20]),
        "one input": clf.explain(X[:1]),
        "no inputs": evil.run(np.zeros((0, 4))),
        "trace of images": pictures.explain(P[:3]),
        "explanation": clf.explain(X)[0],
        "explanation of an image": pictures.explain(P)[0],
        "nothing asked": evil.session().explanation,
        "known": clf.explain(X[:1], known=["size"])[0],
        "session": clf.session(),
        "session with answers": answered(clf.pursuit_, 90, known={"colour": "red"}),
        "session at its end": answered(evil, "yes", "no", "yes"),
        "session about an image": answered(pictures.pursuit_, [1, 0, 1, 1]),
        "pursuit": clf.pursuit_,
        "noisy pursuit": ip.generative_pursuit(
            evil.model, evil.queries, noise=ip.AnswerNoise(0.9), costs=ip.Costs({"swims": 3.0})
        ),
        "columns": clf.queries_,
        "patches": pictures.queries_,
        "concepts": evil.queries,
        "many classes": concepts(30).run([[1, 0, 1, 0]])[0],
        "session of many classes": concepts(30).session(),
    }


THINGS = things()


@pytest.mark.parametrize("name", THINGS)
def test_a_card_is_whole_escaped_and_accessible(name):
    html = THINGS[name]._repr_html_()
    page = read(html)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "style", "link", "iframe"}
    assert len(html) < 60_000
    for tag, attributes in page.elements:
        assert tag != "th" or attributes["scope"] in ("col", "row")
        assert tag != "svg" or re.search(r"\d+ of \d+ pixels", attributes["aria-label"])
        assert attributes.get("href", "data:").startswith("data:image/png;base64,") or tag != "image"
        assert not any(key.startswith("on") for key in attributes)
        for colour in re.findall(r"(?<![-\w])color:([^;\"]+)", attributes.get("style", "")):
            assert colour == "inherit"  # so that it follows the theme
    assert "\x00" not in html
    assert "nan" not in " ".join(page.words).split()


def test_names_are_shown_as_they_are():
    html = concepts()._repr_html_() + concepts().queries._repr_html_()
    assert EVIL.replace("\x00", "\ufffd") in "".join(read(html).words)


def test_a_fitted_classifier_says_what_it_is(quick_hybrid):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(2)
    clf = ip.InformationPursuitClassifier().fit(X, np.where(X[:, 0] > 0, "up", "down"))
    words = "".join(read(clf._repr_html_()).words)
    for expected in (
        "120 inputs",
        "down, up",
        "hybrid",
        "% confident",
        "held-out rows",
        "on average",
        "expected error",
    ):
        assert expected in words
    assert f"{100 * clf.tuning_.accuracy:.1f} %" in words
    bundle = clf._repr_mimebundle_()
    assert bundle["text/html"] == clf._repr_html_()
    assert bundle["text/plain"] == repr(clf)
    with config_context(display="text"):
        assert set(clf._repr_mimebundle_()) == {"text/plain"}


def test_an_unfitted_classifier_has_the_diagram_of_scikit_learn():
    clf = ip.InformationPursuitClassifier(max_questions=4)
    assert "sk-" in clf._repr_html_()
    assert "sk-" in clf._repr_mimebundle_()["text/html"]


def test_a_calibrated_classifier_says_so():
    clf, X = table()
    clf = ip.InformationPursuitClassifier(clf.queries, strategy="table").fit(X[:60], X[:60, 0] > 100)
    clf.calibrate(X[60:], X[60:, 0] > 100, target=0.6, coverage=0.8)
    assert "Stops at a confidence" in "".join(read(clf._repr_html_()).words)


def test_an_explanation_has_its_questions_in_order():
    clf, X = table()
    e = clf.explain(X)[0]
    words = "".join(read(e._repr_html_()).words)
    places = [words.index(step.sentence) for step in e.steps]
    assert places == sorted(places)
    assert e.steps[0].said in words
    assert e.say_probability() in words


def test_cards_have_the_summary_and_the_figures_of_each_class():
    clf, X = table()
    explanation = clf.explain(X)[0]
    assert case.summary(explanation, None) in " ".join(read(explanation._repr_html_()).words)
    words = read(clf._repr_html_()).words
    performance = performance_of(clf)
    for row in performance.class_table(load(), clf.pursuit_.label_name):
        assert [cell for cell in row if cell not in words] == []


def test_a_long_explanation_is_cut():
    n = 40
    model = ip.models.TableModel([0.5, 0.5], None, np.stack([np.full(n, 0.52), np.full(n, 0.48)]))
    pursuit = ip.generative_pursuit(model, ip.queries.concepts([f"q{i}" for i in range(n)]), stopping=ip.MaxQueries(n))
    words = "".join(read(pursuit.run(np.ones((1, n)))[0]._repr_html_()).words)
    assert "20 of 40 questions" in words
    assert "q39?" in words


# ---- reprs -----------------------------------------------------------------------------------------------------------


def test_reprs_are_short():
    clf, X = table()
    pictures, P = images()
    noisy = ip.generative_pursuit(concepts().model, concepts().queries, noise=ip.AnswerNoise(0.9))
    table_classifier = ip.InformationPursuitClassifier(strategy="empirical").fit(X, X[:, 0] > 100)
    table_classifier.fit_novelty(X)
    session = answered(clf.pursuit_, 90)
    found = [
        *THINGS.values(), *(thing for each in (clf, pictures, table_classifier) for thing in vars(each).values()),
        clf.explain(X)[0].steps[0], session.state, session.state.histories, session._step, session.question,
        clf.pursuit_.belief, pictures.pursuit_.belief, clf.pursuit_.utilities(session.state), noisy.channel,
        ip.models.Sample.of(clf.queries_.variables, clf.queries_.observe(X), np.zeros(len(X), int)),
        pictures.queries_.variables, pictures.queries_.read(P), ip.query_frequencies(clf.explain(X)),
        table_classifier.pursuit_.novelty, ip.strategy_tree(clf).root, clf.queries_.scale(0),
    ]  # fmt: skip
    for thing in found:
        if type(thing).__module__.startswith("infopursuit") and not isinstance(thing, ip.InformationPursuitClassifier):
            text = repr(thing)
            assert len(text) <= 480, text
            assert text.count("\n") <= 2, text
            assert " at 0x" not in text, text


def test_reprs_say_what_matters():
    clf, X = table()
    session = clf.session()
    found = f"{session.prediction} ({100 * session.posterior.max():.0f} %)"
    assert repr(session) == f"<Session: 0 answers, {found}, asks {session.question.sentence!r}>"
    assert re.match(
        r"<Pursuit: 2 classes, 2 columns queries, Exact, MutualInformation; stops when it is 99 %", repr(clf.pursuit_)
    )
    assert re.match(
        r"<Explanation: (large|small), [\d.]+ % \(not calibrated\), after \d questions?>", repr(clf.explain(X)[0])
    )
    assert repr(clf.model_).startswith("<TableModel: 2 classes, 2 variables, ")
