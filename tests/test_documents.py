"""What the documents say is true: their examples run, and what they point at exists."""

import ast
import contextlib
import io
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import infopursuit
from infopursuit.app import cli
from isolated import run_alone

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_examples_run_from_top_to_bottom(page, tmp_path):
    code = "import sys, test_documents; test_documents.run_examples(sys.argv[1])"
    assert "It stopped because" in run_alone(code, page, folder=tmp_path)


def run_examples(page):
    """Run the code of a page, in a process of its own; the README's first example is checked too."""
    names = {}
    text = (ROOT / page).read_text()
    first, *others = BLOCK.findall(text)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(first, page, "exec", dont_inherit=True), names)

    print(printed.getvalue())
    if page == "README.md":
        check_first_example(text, printed.getvalue(), names)
    for block in others:
        exec(compile(block, page, "exec", dont_inherit=True), names)


def check_first_example(text, printed, names):
    """The explanation at the top of the README comes out: of the same label, as short, with numbers of the input.
    Which questions the networks ask may depend on the processor."""
    shown = re.search(r"```\n(Barolo.*?)\n```", text, re.DOTALL)
    assert shown is not None
    row = names["X_test"].iloc[24]
    for explanation in (shown.group(1), printed[: printed.index("strategy: ")]):
        first = re.match(r"Barolo, with a probability of [\d.]+ %, after (\d+) questions\.", explanation)
        assert first is not None
        assert 2 <= int(first.group(1)) <= 6
        steps = re.findall(r"^ +\d+\. ([^:]+): ([\d.]+)", explanation, re.MULTILINE)
        assert len(steps) == int(first.group(1))
        assert all(float(value) == row[name] for name, value in steps)
    assert "held-out rows, on which nothing was chosen: accuracy" in printed


def test_the_tests_that_the_paper_page_names_exist():
    page = (ROOT / "docs/paper.md").read_text()
    named = re.findall(r"`(?:([\w/]+\.py)::)?(test_\w+)`", page)
    assert len(named) > 15
    everywhere = {file: _functions(file) for file in (ROOT / "tests").rglob("test_*.py")}
    for file, test in named:
        files = [f.as_posix() for f, tests in everywhere.items() if test in tests]
        found = [f for f in files if f.endswith(f"tests/{file}" if file else ".py")]
        assert found, f"docs/paper.md names {file}::{test}, which does not exist"


def test_the_functions_that_the_paper_page_names_exist():
    page = (ROOT / "docs/paper.md").read_text()
    packages = {**dict.fromkeys(infopursuit.LAYERS, "infopursuit."), "testing": "infopursuit.", "benchmarks": ""}
    named = re.findall(r"`((?:\w+\.)+\w+)`", page)
    checked = [f"{packages[name.split('.')[0]]}{name}" for name in named if name.split(".")[0] in packages]
    assert len(checked) > 25
    for name in checked:
        assert pkgutil.resolve_name(name) is not None

    # a name of the package that is in no folder of it is that of an earlier version
    elsewhere = {name.split(".")[0] for name in named} - set(packages) - {"theory"}
    assert all(part[0].isupper() for part in elsewhere), elsewhere


PAGES = [
    "README.md",
    "RESULTS.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", ["README.md", "docs/howto.md", "docs/commands.md", "docs/index.md"])
def test_commands_of_a_page_have_options_that_exist(page, capsys):
    """Those that other tests do not run: every command line is parsed."""
    text = (ROOT / page).read_text()
    lines = re.findall(r"^ *(infopursuit [a-z][^`#\n]*)|`(infopursuit [a-z]+ [^`]+)`", text, re.MULTILINE)
    told = [shlex.split(block or inline)[1:] for block, inline in lines]
    assert len(told) >= 3
    for arguments in told:
        command = next(each for each in cli.COMMANDS if each.name == arguments[0])
        cli.build_parser(command).parse_args(arguments)


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([\w/.-]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"
    for module in re.findall(r"`((?:[\w]+/)*\w+\.py)`", text):
        places = (ROOT, ROOT / "src/infopursuit", ROOT / "tests")
        assert module == "utils.py" or any((place / module).exists() for place in places), f"{page} names {module}"


def test_the_version_is_the_same_everywhere():
    """The package says it, and the build reads it there; the changelog and the citation have it too."""
    assert 'path = "src/infopursuit/__init__.py"' in (ROOT / "pyproject.toml").read_text()
    assert f"## [{infopursuit.__version__}] - " in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {infopursuit.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def _functions(file):
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}
