"""Tests replace nothing that belongs to the whole process, and leave nothing behind for other tests.

Another thread, another library or the next test would meet what a test has put in its place. A test
gives the code a clock, a stream, an environment or a folder as an argument; or it patches a name of
this package; or it runs code in a process of its own (`isolated.run_alone`).
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]
OURS = {"infopursuit", "benchmarks", "examples"} | {
    path.stem for path in TESTS.iterdir() if path.suffix == ".py" or path.is_dir()
}
"""Packages and modules whose names a test may patch."""
PATCHES = ("setattr", "delattr", "setitem", "delitem")
GLOBAL_CALLS = {
    "contextlib.chdir",
    "locale.setlocale",
    "logging.basicConfig",
    "logging.disable",
    "numpy.random.seed",
    "numpy.random.set_state",
    "numpy.seterr",
    "os.chdir",
    "os.fchdir",
    "os.putenv",
    "os.umask",
    "os.unsetenv",
    "random.seed",
    "signal.signal",
    "socket.setdefaulttimeout",
    "sys.path.append",
    "sys.path.insert",
    "sys.setrecursionlimit",
    "torch.set_default_dtype",
    "torch.set_num_threads",
    "warnings.filterwarnings",
    "warnings.simplefilter",
}
"""Functions that change the whole process, by their full names."""
RESTORED = {
    "torch.manual_seed": "torch.random.fork_rng",
    "warnings.filterwarnings": "warnings.catch_warnings",
    "warnings.simplefilter": "warnings.catch_warnings",
}
"""What may be called inside a ``with`` block that puts the state back."""
ENVIRONMENT_CALLS = {f"os.environ.{name}" for name in ("clear", "pop", "popitem", "setdefault", "update")}
ALLOWED = {
    ("conftest.py", "os.environ.setdefault"): "once, before numpy is imported",
    ("conftest.py", "os.environ.update"): "once, before the first test: the same for all tests",
    ("conftest.py", "os.environ.pop"): "once, before the first test: the same for all tests",
    ("conftest.py", "torch.set_num_threads"): "once, before the first test: the same for all tests",
    ("golden/cases.py", "sys.path.insert"): "run as a program, it needs the other files of tests/",
    ("health/one_result.py", "logging.disable"): "a program that a test starts",
    ("health/one_result.py", "torch.set_num_threads"): "a program that a test starts",
    ("pages.py", "contextlib.chdir"): "only as a program, which writes the output into a page",
}
"""(file, what it changes): why it may."""


@dataclass
class Finding:
    """A place in a test that changes the whole process."""

    line: int
    what: str


@dataclass
class Names(ast.NodeVisitor):
    """What the names of a file stand for: imports at its top and within its functions."""

    full: dict[str, str] = field(default_factory=dict)
    held: dict[str, set[str]] = field(default_factory=dict)
    """What variables may hold of what was imported: ``where = os if crash else files``."""

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.full[alias.asname] = alias.name
            else:
                root = alias.name.split(".")[0]
                self.full[root] = root

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.full[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Assign(self, node: ast.Assign) -> None:
        imported = {self.full[name] for name in _bare_names(node.value) if name in self.full}
        for target in node.targets:
            for name in _bare_names(target):
                self.held.setdefault(name, set()).update(imported)

    def of(self, node: ast.expr) -> str | None:
        """Return the full dotted name of an expression, None where it is not a name of a module."""
        if isinstance(node, ast.Name):
            return self.full.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.of(node.value)
            return owner and f"{owner}.{node.attr}"
        return None


def changes_of(source: str) -> list[Finding]:
    """Find what a file changes that belongs to the whole process."""
    tree = ast.parse(source)
    names = Names()
    names.visit(tree)
    findings = list(_findings(tree, names, frozenset()))
    return sorted(findings, key=lambda finding: finding.line)


def _findings(node: ast.AST, names: Names, restored: frozenset[str]) -> Iterator[Finding]:
    if isinstance(node, ast.With | ast.AsyncWith):
        contexts = (item.context_expr for item in node.items)
        opened = {names.of(each.func) for each in contexts if isinstance(each, ast.Call)}
        restored |= {name for name in opened if name}

    if isinstance(node, ast.Call):
        what = _changed_by_call(node, names, restored)
    elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
        what = _changed_by_assignment(node, names)
    else:
        what = None
    if what:
        yield Finding(node.lineno, what)

    for child in ast.iter_child_nodes(node):
        yield from _findings(child, names, restored)


def _changed_by_call(call: ast.Call, names: Names, restored: frozenset[str]) -> str | None:
    name = names.of(call.func)
    if name in RESTORED and RESTORED[name] in restored:
        return None
    if name in GLOBAL_CALLS | ENVIRONMENT_CALLS | set(RESTORED):
        return name
    if name and name.startswith("unittest.mock.patch"):
        return name

    if not isinstance(call.func, ast.Attribute):
        if isinstance(call.func, ast.Name) and call.func.id == "setattr":
            return _foreign(call.args[0], names)
        return None

    method = call.func.attr
    if method in ("setenv", "delenv", "chdir", "syspath_prepend"):
        return method if names.of(call.func) is None else None
    if method in PATCHES and call.args and names.of(call.func) is None:
        return _foreign(call.args[0], names)
    return None


def _changed_by_assignment(node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete, names: Names) -> str | None:
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
    for target in targets:
        if isinstance(target, ast.Attribute | ast.Subscript):
            foreign = _foreign(target.value, names)
            if foreign:
                return foreign
    return None


def _foreign(target: ast.expr, names: Names) -> str | None:
    """Return what a patch changes, if it does not belong to this package or is a local object."""
    if isinstance(target, ast.Constant) and isinstance(target.value, str):
        candidates = {target.value.rpartition(".")[0]}
    elif isinstance(target, ast.Name) and target.id in names.held:
        candidates = names.held[target.id]
    else:
        candidates = {names.of(target) or ""}

    for dotted in sorted(candidates - {""}):
        if _owner(dotted) not in OURS:
            return dotted

    return None


def _bare_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that an expression may be: neither called nor looked into."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Tuple | ast.IfExp):
        for child in ast.iter_child_nodes(node):
            yield from _bare_names(child)


def _owner(dotted: str) -> str:
    """Return the package in which the object of a dotted name lives.

    ``infopursuit.support.progress.time`` lives in ``time``: its attributes are those of every module.
    """
    parts = dotted.split(".")
    if parts[0] not in OURS:
        return parts[0]

    found: object = importlib.import_module(parts[0])
    path = parts[0]
    for part in parts[1:]:
        path = f"{path}.{part}"
        if hasattr(found, part):
            found = getattr(found, part)
        else:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return parts[0]

    if isinstance(found, ModuleType):
        return found.__name__.split(".")[0]
    if isinstance(found, type):
        return found.__module__.split(".")[0]
    return parts[0]


def test_no_test_changes_what_belongs_to_the_process():
    changes = []
    for file in sorted(TESTS.rglob("*.py")):
        name = file.relative_to(TESTS).as_posix()
        for finding in changes_of(file.read_text(encoding="utf-8")):
            if (name, finding.what) not in ALLOWED:
                changes.append(f"{name}:{finding.line} changes {finding.what}")

    assert changes == []


def test_what_is_allowed_is_still_there():
    for name, what in ALLOWED:
        findings = changes_of((TESTS / name).read_text(encoding="utf-8"))
        assert what in {finding.what for finding in findings}, (name, what)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import time\nmonkeypatch.setattr(time, 'monotonic', clock)", "time"),
        ("import os as system\nmonkeypatch.setattr(system, 'replace', crash)", "os"),
        ("def test(patched):\n    import sys\n    patched.setattr(sys, 'stdin', text)", "sys"),
        ("monkeypatch.setattr('sys.stdin', text)", "sys"),
        (
            "monkeypatch.setattr('infopursuit.support.progress.time.monotonic', clock)",
            "infopursuit.support.progress.time",
        ),
        ("from infopursuit.support import progress as module\nmonkeypatch.setattr(module.time, 'monotonic', clock)",
         "infopursuit.support.progress.time"),
        (
            "from infopursuit.support import threads\nmonkeypatch.delattr(threads.os, 'cpu_count')",
            "infopursuit.support.threads.os",
        ),
        ("import sys\nmonkeypatch.setitem(sys.modules, 'ray', None)", "sys.modules"),
        ("import numpy as np\nmonkeypatch.setattr(np.linalg, 'qr', other)", "numpy.linalg"),
        ("from importlib import metadata\nmonkeypatch.setattr(metadata, 'version', other)", "importlib.metadata"),
        ("from torch.nn import Linear\nmonkeypatch.setattr(Linear, 'forward', other)", "torch.nn.Linear"),
        ("import builtins\nbuiltins.open = refuse", "builtins"),
        ("import os\nwhere, name = (files, a) if own else (os, b)\nmonkeypatch.setattr(where, name, crash)", "os"),
        ("import os\nos.environ['LANG'] = 'C'", "os.environ"),
        ("import os\ndel os.environ['LANG']", "os.environ"),
        ("import os\nos.environ.update(LANG='C')", "os.environ.update"),
        ("import os\nos.chdir(folder)", "os.chdir"),
        ("from os import chdir\nchdir(folder)", "os.chdir"),
        ("monkeypatch.setenv('LANG', 'C')", "setenv"),
        ("monkeypatch.chdir(folder)", "chdir"),
        ("import contextlib\nwith contextlib.chdir(folder):\n    pass", "contextlib.chdir"),
        ("import numpy as np\nnp.random.seed(0)", "numpy.random.seed"),
        ("import torch\ntorch.manual_seed(0)", "torch.manual_seed"),
        ("import torch\ntorch.set_num_threads(2)", "torch.set_num_threads"),
        ("import warnings\nwarnings.simplefilter('ignore')", "warnings.simplefilter"),
        ("from unittest import mock\nmock.patch('time.sleep')", "unittest.mock.patch"),
        ("import time\nsetattr(time, 'sleep', print)", "time"),
    ],
)  # fmt: skip
def test_what_belongs_to_the_process_is_refused(code, what):
    """The control of the test above."""
    assert [finding.what for finding in changes_of(code)] == [what]


@pytest.mark.parametrize(
    "code",
    [
        "from infopursuit import files\nmonkeypatch.setattr(files, '_rename', crash)",
        "monkeypatch.setattr('infopursuit.pursuit.trace.Trace.to_arrow', other)",
        "from infopursuit.app.jobs.job import Explainer\nmonkeypatch.setattr(Explainer, '__call__', other)",
        "def test(model):\n    model.states = {}",
        "import torch\nwith torch.random.fork_rng(devices=[]):\n    torch.manual_seed(0)",
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')",
        "import torch\ngenerator = torch.Generator().manual_seed(0)",
        "import subprocess, os\nsubprocess.run(command, env={**os.environ, 'LANG': 'C'}, cwd=folder)",
    ],
)
def test_what_belongs_to_a_test_is_not_refused(code):
    assert changes_of(code) == []
