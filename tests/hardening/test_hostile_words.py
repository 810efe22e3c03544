"""Column names, categories, labels, wordings and file names that are markup, scripts, formulas, terminal escapes or log
lines: they are shown as the text that they are, wherever they are shown."""

import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit import plots
from infopursuit.app import cli

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": "\" onmouseover='alert(1)' x=\"",
    "svg": "<svg/onload=alert(1)>",
    "escape": "a\x1b[2Jb\x1b]0;owned\x07c\x9b31m",
    "backspace": "safe\b\b\b\bevil\rover",
    "line": "first\nCRITICAL root logged in",
    "mathtext": r"$\frac{1}{$ and 5 $",
    "formula": '=HYPERLINK("http://x.example","y")',
    "template": "{{ 7 * 7 }} {% raw %} ${7*7} %s %(x)s {0}",
    "markup of rich": "[red]x[/red] [/] [link=http://x.example]y[/link]",
    "right to left": "\u202egnp.exe",
}
FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Elements(HTMLParser):
    """What a browser would make of a page: no element or attribute may come from the words."""

    def __init__(self, page):
        super().__init__()
        self.bad = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        links = [value for name, value in attrs if name in ("href", "src")]
        self.bad += [name for name in names if name.startswith("on")] + [tag] * (tag.startswith("svg/"))
        self.bad += [link for link in links if "x.example" in str(link) or "javascript:" in str(link)]

    def handle_data(self, data):
        if self.get_starttag_text() == "<script>" and data == "alert(1)":
            self.bad.append(data)


@pytest.fixture(scope="module", params=HOSTILE, ids=str)
def fitted(request):
    """A classifier in whose table everything is called by hostile words."""
    word, rng = HOSTILE[request.param], np.random.default_rng(0)
    y = rng.integers(2, size=120)
    frame = pd.DataFrame(
        {
            f"{word} column": np.where(rng.random(120) < 0.8, y, 1 - y) + rng.normal(0, 0.2, 120).round(2),
            f"{word} kind": np.where(rng.random(120) < 0.8, y, 1 - y).astype(str).astype(object) + word,
        }
    )
    labels = np.array([f"no {word}", f"yes {word}"])[y]
    clf = ip.InformationPursuitClassifier(ip.queries.columns(), "table", random_state=0, stopping=ip.MaxQueries(2))
    return word, clf.fit(frame, labels), frame, labels


def test_the_report_has_no_markup_of_theirs(fitted):
    word, clf, frame, labels = fitted
    page = ip.report.write(clf.explain(frame[:5]), title=word, truth=labels[:5], names=[word] * 5)
    assert not Elements(page).bad
    assert not FORBIDDEN.search(page.replace("\n", ""))


def test_cards_of_notebooks_have_none_either(fitted):
    _, clf, frame, _ = fitted
    trace = clf.explain(frame[:3])
    for thing in (clf, clf.pursuit_, trace, trace[0], clf.pursuit_.queries, clf.session()):
        assert not Elements(thing._repr_html_()).bad


def test_the_terminal_is_not_steered(fitted, tmp_path, capsys):
    word, clf, frame, _ = fitted
    clf.save(tmp_path / "m")
    cli.main(["ask", str(tmp_path / "m")], stdin=io.StringIO("1\n1\nwhy\n2\n"))
    frame[:3].to_csv(tmp_path / "new.csv", index=False)
    cli.main(["explain", str(tmp_path / "new.csv"), "--model", str(tmp_path / "m")])
    cli.main(["inspect", str(tmp_path / "m")])
    told = capsys.readouterr()
    assert not FORBIDDEN.search((told.out + told.err).replace("\n", "")), word
    assert "Traceback" not in told.err


def test_text_of_an_explanation_is_not_steered_either(fitted):
    _, clf, frame, _ = fitted
    assert not FORBIDDEN.search(clf.explain(frame[:1])[0].to_text().replace("\n", ""))


def test_a_page_with_such_elements_is_found():
    for word in ("script", "attribute", "svg"):
        assert Elements(f'<p title="{HOSTILE[word]}">{HOSTILE[word]}</p>').bad


@pytest.mark.filterwarnings("ignore:Glyph")
def test_figures_show_the_words_as_they_are(fitted, tmp_path):
    word, clf, frame, labels = fitted
    trace = clf.explain(frame)
    plots.save(plots.strategy_tree(ip.strategy_tree(clf)), tmp_path / "tree.png")
    confidence, right = trace.posterior.max(axis=1), trace.predictions == labels
    plots.save(plots.calibration(confidence, right, title=word), tmp_path / "calibration.png")
