"""Who imports whom: each layer only from the layers above it, and the core nothing that is optional."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import infopursuit

ROOT = Path(infopursuit.__file__).parent

# From above to below. What stands in one line does not import each other. `files`, `progress`, `terminal` and
# `explanation` are leaves that know nothing of the rest, so that everything below may use them.
LAYERS = (
    {"types", "compiled", "files", "progress", "terminal", "threads"},
    {"versions"},
    {"explanation", "model_files"},
    {"queries", "models"},
    {"noise"},
    {"posteriors"},
    {"information", "stopping", "costs", "annotators"},
    {"conformal", "novelty", "risk_control"},
    {"calibration"},
    {"trace"},
    {"engine"},
    {"session"},
    {"selection", "conversation", "answer_profile"},
    {"estimator"},
    {"model_card"},
    {"storage"},
    {"datasets", "plots"},
    {"shipped"},
    {"evaluation"},
    {"inspection"},
    {"fitting", "monitoring"},
    {"tabular"},
    {"data_checks"},
    {"report", "server"},
    {"jobs"},
    {"cli"},
    {"__main__"},
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
PROGRAMS = {"report", "server", "jobs", "cli", "__main__"}  # these may ask the package for its version

# What an extra needs may be imported at the top by modules that are themselves only imported inside functions.
OF_AN_EXTRA = {
    "jobs/ray_data.py": {"threadpoolctl"},  # scikit-learn brings it along
    "server/app.py": {"cachetools", "fastapi", "prometheus_client", "starlette", "uvicorn"},
    "server/schemas.py": {"pydantic", "pydantic_core"},
}

CORE = {"numba", "numpy", "rich", "torch", "scipy", "sklearn", "safetensors"}
OPTIONAL = (
    "cachetools",
    "captum",
    "fastapi",
    "jinja2",
    "matplotlib",
    "pandas",
    "polars",
    "pooch",
    "prometheus_client",
    "pyarrow",
    "pydantic",
    "ray",
    "snowballstemmer",
    "starlette",
    "uvicorn",
    "yaml",
)

MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def part_of(path):
    """The part of the package that a module belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def module_imports(tree):
    """(module, name or None) imported when the module is: not inside functions, nor for type checkers only."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
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


def imported_parts(path):
    """The parts of this package that a module imports; "" for the package itself."""
    for module, name in module_imports(ast.parse(path.read_text(encoding="utf-8"))):
        first, *rest = module.split(".")
        if first == "infopursuit":
            yield rest[0] if rest else name if name in LEVEL else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_from_the_layers_above_only(path):
    part = part_of(path)
    assert part in LEVEL, f"{part} has no layer yet; say in this test where it belongs"
    for other in imported_parts(path):
        if other == "":
            assert part in PROGRAMS, f"{path.name} imports the whole package, which imports everything"
        elif other != part:
            assert LEVEL[other] < LEVEL[part], f"{part} imports {other}, which is not above it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_nothing_that_is_optional(path):
    """Optional packages are imported in the functions that need them."""
    for module, _ in module_imports(ast.parse(path.read_text(encoding="utf-8"))):
        first = module.split(".")[0]
        known = first in CORE or first in sys.stdlib_module_names or first == "infopursuit"
        known = known or first in OF_AN_EXTRA.get(path.relative_to(ROOT).as_posix(), set())
        assert known, f"{path.name} imports {module} at its top; the core needs {', '.join(sorted(CORE))} only"


def test_the_imports_are_found():
    """A test of the test: what counts and what does not."""
    source = (
        "import a.b\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import c\nelse:\n    import d\n"
        "try:\n    from e import f\nexcept ImportError:\n    import g\n"
        "def function():\n    import h\n"
        "class Thing:\n    import i\n    def method(self):\n        import j\n"
    )
    found = {module for module, _ in module_imports(ast.parse(source))}
    assert found == {"a.b", "typing", "d", "e", "g", "i"}
    engine = set(imported_parts(ROOT / "engine.py"))
    assert {"types", "queries", "models", "posteriors", "information", "stopping"} <= engine


def test_the_core_works_where_nothing_optional_is_installed():
    script = f"""
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nowhere())
import numpy as np
import infopursuit as ip
import infopursuit.cli

X = np.random.default_rng(0).normal(size=(40, 2))
clf = ip.InformationPursuitClassifier(model="table").fit(X, X[:, 0] > 0)
assert clf.score(X, X[:, 0] > 0) > 0.8
print(clf.explain(X)[0])
assert not set({OPTIONAL!r}) & set(sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    assert "question" in run.stdout
