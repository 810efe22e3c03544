"""Who imports whom: layers of folders, no cycles, and nothing heavy until it is needed. Lazy imports count."""

import ast
import os
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import infopursuit

ROOT = Path(infopursuit.__file__).parent
LEVEL = {folder: level for level, folder in enumerate(infopursuit.LAYERS)}
ABOVE = {"__main__", "testing"}
"""Modules at the root, which may import everything."""
HEAVY = ("torch", "numba", "matplotlib", "pandas", "ray", "anywidget", "infopursuit.presentation.notebook")
CORE = {"cachetools", "numpy", "rich", "torch", "scipy", "sklearn", "safetensors"}
SERVER = {"fastapi", "prometheus_client", "pydantic", "pydantic_core", "starlette", "uvicorn"}

PATHS = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name_of(path):
    """The dotted name of a module below the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}


def imports(tree, *, lazy):
    """What a module imports, with ``lazy`` in functions too, except for type checkers: pairs (module, name or None)."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not lazy:
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "import by the full name"
            yield from ((node.module, alias.name) for alias in node.names)
        waiting.extend(ast.iter_child_nodes(node))


def own_imports(name, *, lazy):
    """The modules of this package that one of them imports."""
    for module, entry in imports(MODULES[name], lazy=lazy):
        first, _, rest = module.partition(".")
        if first == "infopursuit":
            below = f"{rest}.{entry}".lstrip(".")
            yield below if below in MODULES else rest


def test_every_module_is_in_a_layer():
    assert {name.split(".")[0] for name in MODULES} == {*infopursuit.LAYERS, *ABOVE}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_from_its_layer_and_those_below(name):
    folder = name.split(".")[0]
    for module in own_imports(name, lazy=True):
        other = module.split(".")[0]
        if other and folder not in ABOVE:
            assert other in LEVEL, f"{name} imports {module}, which is in no layer"
            assert LEVEL[other] <= LEVEL[folder], f"{name} of {folder} imports {module} of {other}, which is above it"


def test_no_module_imports_itself_on_a_detour():
    """`CycleError` names the modules of a cycle."""
    needed = {name: {other for other in own_imports(name, lazy=True) if other and other != name} for name in MODULES}
    assert len(list(TopologicalSorter(needed).static_order())) == len(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_nothing_optional_at_its_top(name):
    allowed = CORE | (SERVER if name.startswith("app.server.") else set())
    for module, _ in imports(MODULES[name], lazy=False):
        first = module.split(".")[0]
        assert first in allowed or first in sys.stdlib_module_names or first == "infopursuit", module


def test_the_imports_are_found():
    """A test of the test: what counts and what does not."""
    source = (
        "import a.b\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import c\nelse:\n    import d\n"
        "try:\n    from e import f\nexcept ImportError:\n    import g\n"
        "def function():\n    import h\n"
        "class Component:\n    import i\n    def method(self):\n        import j\n"
    )
    top = {module for module, _ in imports(ast.parse(source), lazy=False)}
    assert top == {"a.b", "typing", "d", "e", "g", "i"}
    assert {module for module, _ in imports(ast.parse(source), lazy=True)} == top | {"h", "j"}
    imported = set(own_imports("pursuit.loop", lazy=True))
    assert {"support.types", "queries.queryset", "pursuit.session", "pursuit.stopping"} <= imported


def run(script):
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("script", ["import infopursuit", "from infopursuit.app.cli import main\nmain(['--help'])"])
def test_nothing_heavy_is_loaded_before_it_is_needed(script):
    done = run(f"import sys\n{script}\nassert not set({HEAVY!r}) & set(sys.modules), set({HEAVY!r}) & set(sys.modules)")
    assert done.returncode == 0, done.stderr


def test_the_core_works_where_nothing_optional_is_installed():
    """Neither the extras nor what they bring, such as torch and numba."""
    optional = SERVER | {
        "anywidget",
        "captum",
        "jinja2",
        "llvmlite",
        "matplotlib",
        "numba",
        "pandas",
        "polars",
        "pooch",
        "pyarrow",
        "ray",
        "torch",
    }
    script = f"""
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {optional!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nowhere())
import numpy as np
import infopursuit as ip
from infopursuit.app import cli
from infopursuit import shipped

assert cli.main(["--help"]) == 0
assert not shipped.is_usable("mnist")
X = np.random.default_rng(0).normal(size=(40, 2))
clf = ip.InformationPursuitClassifier(strategy="table").fit(X, X[:, 0] > 0)
assert clf.score(X, X[:, 0] > 0) > 0.8
print(clf.explain(X)[0])
for thing in (clf, clf.queries_, clf.pursuit_, clf.explain(X), clf.explain(X)[0], clf.session()):
    assert thing._repr_html_().startswith("<div")
yes_no = ip.models.TableModel([0.5, 0.5], None, [[0.1, 0.9], [0.8, 0.2]])
asked = ip.queries.concepts(["a", "b"])
calls = (
    clf.explain(X).to_frame,
    clf.explain(X).to_arrow,
    lambda: ip.notebook.form(clf.session()),
    lambda: ip.generative_pursuit(yes_no, asked, "pruned"),
    lambda: shipped.load("mnist"),
)
for call in calls:
    try:
        call()
    except ImportError as error:
        assert "pip install 'infopursuit[" in str(error)
    else:
        raise AssertionError(call)
"""
    done = run(script)
    assert done.returncode == 0, done.stderr
    assert "question" in done.stdout
