"""Pages with results: what is between two marks is written anew, everything else stays as it is."""

import json
import os
import re
from dataclasses import asdict

import pytest

from benchmarks import RESULTS, ROOT
from benchmarks.pages import markdown, markdown_differences, measured, plain_table, quoted, section, update_page
from benchmarks.paired import Difference
from infopursuit.evaluation.measures import Row, counted
from isolated import run_alone

MACHINE = {"processor": "a small one", "cores": 2, "when": "2024-05-01 10:00 UTC", "commit": "abc1234"}
HEAD = (
    "`INFOPURSUIT_DATA=... python -m benchmarks.reproduce birds` (2024-05-01 10:00 UTC, commit abc1234, a small one, "
    "2 cores, seed 3, 90 s)"
)


def result(**more):
    return {"command": "python -m benchmarks.reproduce birds", "machine": MACHINE, "seed": 3, "seconds": 90.2, **more}


@pytest.fixture
def folder(tmp_path):
    """Results of two experiments."""
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    (folder / "birds.json").write_text(json.dumps(result()))
    (folder / "mnist-vae.json").write_text(json.dumps(result(seconds=119.4)))
    return folder


@pytest.fixture
def write(tmp_path):
    def write(text):
        page = tmp_path / "RESULTS.md"
        page.write_bytes(text.encode())
        return page

    return write


def marked(name, content="old"):
    return f"<!-- measured: {name} -->\n{content}\n<!-- end -->"


def test_sections_are_written_anew_and_what_is_outside_is_left(folder, write):
    page = write(f"# Results ± ünd\n\n{marked('birds')}\nbetween\r\n{marked('mnist-vae')}\n\n<!-- end -->\n after  ")
    assert update_page(page, folder) == ["birds", "mnist-vae"]
    new = HEAD.replace("90 s", "119 s")
    assert page.read_bytes().decode() == (
        f"# Results ± ünd\n\n{marked('birds', HEAD)}\nbetween\r\n{marked('mnist-vae', new)}\n\n<!-- end -->\n after  "
    )


def test_what_was_there_does_not_matter(folder, write):
    pages = []
    for old in ("", "old", "two\n\nlines \\1 \\g<0>", HEAD):
        page = write(f"before\n{marked('birds', old)}\nafter")
        update_page(page, folder)
        pages.append(page.read_text(encoding="utf-8"))
    assert set(pages) == {f"before\n{marked('birds', HEAD)}\nafter"}
    page = write("<!-- measured: birds -->\n<!-- end -->")
    update_page(page, folder)
    assert page.read_text(encoding="utf-8") == marked("birds", HEAD)


def test_results_that_look_like_patterns_are_text(folder, write):
    (folder / "birds.json").write_text(json.dumps(result(tables={r"\1 \g<name>": [{"a": r"\n"}]})))
    page = write(marked("birds"))
    update_page(page, folder)
    assert "\\1 \\g<name>\n\n| a |\n| --- |\n| \\n |\n<!-- end -->" in page.read_text(encoding="utf-8")


def test_a_section_without_a_file_is_left(folder, write):
    text = f"{marked('cub', 'still to come')}\n{marked('birds', HEAD)}\n"
    page = write(text)
    assert update_page(page, folder) == ["birds"]
    assert page.read_text(encoding="utf-8") == text


def test_a_page_that_says_it_already_is_not_touched(folder, write):
    page = write(marked("birds", HEAD))
    os.utime(page, (1, 1))
    assert update_page(page, folder) == ["birds"]
    assert page.stat().st_mtime == 1


def test_a_page_without_sections(folder, write):
    page = write("nothing\n<!-- measured: birds -->")
    assert update_page(page, folder) == []
    assert page.read_text(encoding="utf-8") == "nothing\n<!-- measured: birds -->"


def test_a_section_that_is_not_closed_takes_nothing_with_it(folder, write):
    page = write(f"<!-- measured: mnist-vae -->\nnot closed\n\nprecious\n{marked('birds')}\n")
    assert update_page(page, folder) == ["birds"]
    assert page.read_text(encoding="utf-8") == (
        f"<!-- measured: mnist-vae -->\nnot closed\n\nprecious\n{marked('birds', HEAD)}\n"
    )


@pytest.mark.parametrize(
    ("where", "link"),
    [("RESULTS.md", "benchmarks/results/curve.png"), ("docs/results.md", "../benchmarks/results/curve.png")],
)
@pytest.mark.parametrize("absolute", [True, False])
def test_pictures_are_found_from_the_page(folder, tmp_path, where, link, absolute):
    (folder / "birds.json").write_text(json.dumps(result(figures=[{"about": "a curve", "file": "curve.png"}])))
    page = tmp_path / where
    page.parent.mkdir(exist_ok=True)
    page.write_text(marked("birds"))
    if absolute:
        update_page(page, folder)
    else:
        code = """
import sys
from pathlib import Path
from benchmarks.pages import update_page
update_page(*map(Path, sys.argv[1:]))
"""
        run_alone(code, where, folder.relative_to(tmp_path), folder=tmp_path)
    assert page.read_text(encoding="utf-8") == marked("birds", f"{HEAD}\n\n![a curve]({link})")


def test_the_parts_of_a_section_in_their_order():
    rows = [asdict(counted("ours", [1, 0, 1]))]
    differences = [asdict(Difference("ours - theirs", 0.1, 0.0, 0.2, 3))]
    found = section(
        result(
            rows=rows,
            differences=differences,
            tables={"One": [{"a": 1}], "Two": [{"b": 2}]},
            figures=[{"about": "a curve", "file": "curve.png"}, {"about": "a map", "file": "map.png"}],
        ),
        "here",
    )
    assert found.split("\n\n") == [
        HEAD,
        markdown(rows),
        markdown_differences(differences),
        "One",
        "| a |\n| --- |\n| 1 |",
        "Two",
        "| b |\n| --- |\n| 2 |",
        "![a curve](here/curve.png)",
        "![a map](here/map.png)",
    ]


def test_empty_parts_are_left_out():
    assert section(result(rows=[], differences=None, tables=None, figures=None), "here") == HEAD


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "0 s"), (119, "119 s"), (120, "2 min"), (5_400, "90 min")])
def test_how_long_it_took(seconds, said):
    assert section(result(seconds=seconds), "here").endswith(f"seed 3, {said})")


def test_a_plain_table():
    rows = [
        {"size": "3 x 3", "accuracy": 0.968, "n": 10_000, "note": None},
        {"note": "", "n": 0, "accuracy": 1.0, "size": "4 x 4"},
    ]
    assert plain_table(rows).splitlines() == [
        "| size | accuracy | n | note |",
        "| --- | --- | --- | --- |",
        "| 3 x 3 | 0.968 | 10000 |  |",
        "| 4 x 4 | 1 | 0 |  |",
    ]


def test_a_quoted_row_has_no_interval():
    assert quoted("the paper", 0.8, 3.5) == Row("the paper", 0.8, length=3.5, note="as the paper has it")


def test_rows_in_markdown():
    rows = [
        Row("Information Pursuit", 0.9681, 0.9645, 0.9714, 5.213, 0.05, 10_000, 3.0, "epsilon 0.01"),
        Row("MAP using Q", 0.98, 0.977, 0.9826, n_inputs=10_000),
        Row("a tree", 0.5, 0.4, 0.6, length=4.0, n_inputs=90),
        quoted("the paper", 0.968, 5.2),
        quoted("a black box", 0.99, note="quoted"),
    ]
    assert markdown(asdict(row) for row in rows).splitlines() == [
        "| | right, % (95 % interval) | questions | inputs | |",
        "| --- | --- | --- | --- | --- |",
        "| Information Pursuit | 96.81 (96.45 to 97.14) | 5.21 ± 0.10 | 10,000 | epsilon 0.01 |",
        "| MAP using Q | 98.00 (97.70 to 98.26) | all | 10,000 |  |",
        "| a tree | 50.00 (40.00 to 60.00) | 4.00 | 90 |  |",
        "| the paper | 96.80 | 5.20 |  | as the paper has it |",
        "| a black box | 99.00 |  |  | quoted |",
    ]


def test_differences_in_markdown():
    rows = [Difference("ours - tree", 0.0123, -0.001, 0.0256, 2_500), Difference("tree - ours", -0.0123, -0.03, 0, 7)]
    assert markdown_differences(asdict(row) for row in rows).splitlines() == [
        "| difference on the same inputs | points (95 % interval) | inputs |",
        "| --- | --- | --- |",
        "| ours - tree | +1.23 (-0.10 to +2.56) | 2,500 |",
        "| tree - ours | -1.23 (-3.00 to +0.00) | 7 |",
    ]


# ---- the pages of this project --------------------------------------------------------------------------------------

PAGES = [ROOT / "RESULTS.md", *sorted((ROOT / "docs" / "results").glob("*.md"))]


def test_one_table_of_an_experiment(folder, write):
    tables = {"Means, of all": [{"a": 1}], "Each": [{"b": 2}]}
    (folder / "birds.json").write_text(json.dumps(result(tables=tables)))
    page = write(marked("birds, Means, of all"))
    assert update_page(page, folder) == ["birds"]
    assert page.read_text() == marked("birds, Means, of all", f"{HEAD}\n\n{plain_table([{'a': 1}])}")


def test_all_pages_of_a_folder(folder, tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("mnist-vae", "birds"):
        (pages / f"{name}.md").write_text(marked(name))
    assert update_page(pages, folder) == ["birds", "mnist-vae"]
    assert HEAD in (pages / "birds.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_measured_sections_are_those_of_the_files(page):
    text = page.read_text(encoding="utf-8")
    assert measured(text, page.parent, RESULTS) == text


def test_headline_figures_are_on_the_page_of_their_experiment():
    """Every number in the column "measured" of RESULTS.md."""
    rows = re.findall(
        r"^\|[^|]+\|[^|]+\|([^|]+)\|[^|]*\| \[[^]]+\]\((docs/results/[\w-]+\.md)\) \|$", PAGES[0].read_text(), re.M
    )
    assert len(rows) > 20
    for told, page in rows:
        there = set(re.findall(r"\d+(?:[.,]\d+)*", (ROOT / page).read_text()))
        assert set(re.findall(r"\d+(?:[.,]\d+)*", told)) <= there, f"{page}: {told}"


def test_every_experiment_has_a_page_that_the_first_page_links_to():
    linked = set(re.findall(r"docs/results/[\w-]+\.md", PAGES[0].read_text()))
    assert linked == {page.relative_to(ROOT).as_posix() for page in PAGES[1:]}
