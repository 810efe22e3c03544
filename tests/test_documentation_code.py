"""The pages of the documentation: their code runs from top to bottom and prints what they say."""

import re
from pathlib import Path

import pytest

from pages import BLOCK, ROOT, agrees, resembles, run, run_alone

PAGES = [
    "docs/index.md",
    "docs/concepts.md",
    "docs/evaluate.md",
    "docs/reproducibility.md",
    "docs/tour.md",
    *(f"docs/tutorials/{path.name}" for path in sorted((ROOT / "docs/tutorials").glob("*.md"))),
]
FENCE = re.compile(r"^ *```+ *(\w*)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path):
    done = run_alone(ROOT / page, tmp_path)
    assert any(ran.said for ran in done)
    for ran in done:
        assert ran.true, f"{page}\n{ran.code}\n--- prints ---\n{ran.printed}\n--- is said to print ---\n{ran.said}"


@pytest.mark.parametrize("page", PAGES)
def test_no_code_is_left_out(page):
    """Every fence is of a kind that is run or compared; only drawings and commands without an end are bare."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(BLOCK.findall(text)) >= 2
    kinds = FENCE.findall(text)[::2]
    assert set(kinds) <= {"python", "sh", "text", "html", ""}
    assert kinds.count("") <= 1
    assert len(BLOCK.findall(text)) == len(kinds) - kinds.count("") - kinds.count("html")


def test_what_is_said_is_compared():
    assert agrees("a\nb\n", "a\nb\n")
    assert agrees("a\n...\nd\n", "a\nb\nc\nd\n")
    assert agrees("...\nd\n", "a\nd\n")
    assert agrees("a\n...\n", "a\nb\n")
    assert not agrees("a\nb\n", "a\nc\n")
    assert not agrees("a\n...\nd\n", "a\nb\nc\n")
    assert not agrees("a\n", "a\nb\n")


def test_what_depends_on_the_processor_is_compared_but_for_numbers():
    said = "Barolo, with a probability of 98 %, after 3 questions.\n  1. hue: 1.04\nconfidence\n"
    assert resembles(said, said.replace("98 %", "97.5 %").replace("hue: 1.04", "proline: 680"))
    assert not resembles(said, said.replace("Barolo", "Barbera"))
    assert not resembles(said, said.replace("confidence", "exhausted"))


def test_a_page_that_is_wrong_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```sh\necho hello\n```\n", encoding="utf-8")
    sums, shell = run(page, tmp_path)
    assert (sums.printed, sums.said, sums.true) == ("2\n", "3\n", False)
    assert (shell.printed, shell.said, shell.true) == ("hello\n", None, False)
    page.write_text("```python\nprint('a', 1 + 1)\n```\n\n<!-- about -->\n\n```text\na 3\n```\n", encoding="utf-8")
    assert run(page, tmp_path)[0].true
    page.write_text("```sh\nfalse\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="false"):
        run(page, Path(tmp_path))
