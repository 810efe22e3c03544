"""The built pages: they load nothing from elsewhere, and the reference has every public name."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from local_only import loaded_from_elsewhere, on_post_build
from outside import moved

PUBLIC = [
    "infopursuit",
    "infopursuit.strategies",
    "infopursuit.strategies",
    "infopursuit.evaluation.inspection",
    "infopursuit.app.jobs",
    "infopursuit.models",
    "infopursuit.presentation.plots",
    "infopursuit.queries",
    "infopursuit.testing",
]
"""The modules whose names the reference must have."""

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_nothing_is_loaded_from_another_host(site):
    assert len(list(site.rglob("*.html"))) >= 15
    assert loaded_from_elsewhere(site) == []


def test_the_first_page_shows_a_trace_before_it_says_a_word(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    article = page[page.index("<article") :]
    assert article.index("images/gallery/digit.png") < article.index("after 5 questions") < article.index("<h1")
    assert article.index("<h1") < article.index("These five answers")


def test_results_are_part_of_the_site_with_their_pictures(site):
    assert len(list((site / "results").glob("*.html"))) >= 15
    for page in (site / "results").glob("*.html"):
        for picture in re.findall(r'src="(pictures/[^"]+)"', page.read_text(encoding="utf-8")):
            assert (page.parent / picture).is_file()
    assert 'src="pictures/mnist.png"' in (site / "results" / "index.html").read_text(encoding="utf-8")


def test_links_of_pages_outside_the_folder_are_rewritten():
    text = "[a](docs/results/mnist.md) [b](RELIABILITY.md) ![c](benchmarks/results/mnist.png) [d](https://example.com)"
    assert moved(text, "results/index.md") == (
        "[a](../results/mnist.md) [b](../results/reliability.md) ![c](../results/pictures/mnist.png) [d](https://example.com)"
    )


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_has_every_public_name(site, module):
    page = (site / "api.html").read_text(encoding="utf-8")
    anchors = {anchor.rsplit(".", 1)[-1] for anchor in re.findall(r'id="(infopursuit\.[\w.]+)"', page)}
    found = importlib.import_module(module)
    things = {name: getattr(found, name) for name in found.__all__}
    missing = [name for name, thing in things.items() if name not in anchors and not inspect.ismodule(thing)]
    assert missing == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/a.css">',
        '<link rel="preconnect" href="https://fonts.example">',
        '<img src="http://example.com/a.png">',
        '<img srcset="https://example.com/a.png 2x">',
        "<style>@import 'https://example.com/a.css';</style>",
        '<p style="background: url(https://example.com/a.png)">',
        '<iframe src="https://example.com"></iframe>',
    ],
)
def test_what_is_loaded_from_elsewhere_is_found(tmp_path, text):
    (tmp_path / "page.html").write_text(f"<html>{text}</html>", encoding="utf-8")
    assert len(loaded_from_elsewhere(tmp_path)) == 1
    with pytest.raises(Exception, match=r"load from another host: page\.html: "):
        on_post_build({"site_dir": str(tmp_path)})


def test_styles_are_looked_into_and_links_are_not_loads(tmp_path):
    (tmp_path / "a.css").write_text("@font-face { src: url(https://fonts.example/a.woff) }", encoding="utf-8")
    (tmp_path / "b.css").write_text("p { background: url(../a.png) } /* https://example.com */", encoding="utf-8")
    good = '<a href="https://example.com">x</a><img src="a.png"><link rel="canonical" href="https://example.com/">'
    (tmp_path / "page.html").write_text(good, encoding="utf-8")
    assert loaded_from_elsewhere(tmp_path) == ["a.css: https://fonts.example/a.woff"]


def test_docstrings_become_markdown(site):
    from doctests import markdown

    text = (
        "Draws.\n\nParameters\n----------\none, other: over the\n    same classes.\naxes: to draw on.\n\n>>> 1 + 1\n2"
    )
    parameters = "**Parameters**\n\n- `one, other`: over the\n    same classes.\n- `axes`: to draw on.\n"
    assert markdown(text) == f"Draws.\n\n{parameters}\n```pycon\n>>> 1 + 1\n2\n```"
    page = (site / "api.html").read_text(encoding="utf-8")
    assert "<li><code>explanation</code>: what <code>Trace</code> gives" in page
    assert 'id="parameters"' not in page
