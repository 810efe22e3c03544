"""Public names that are imported when they are first used, so that heavy libraries load only where they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

EXTRAS = {"torch": "networks"}
"""The extra of the package that brings a library."""


def lazy_name(package: str, modules: Mapping[str, str], name: str) -> Any:
    """A name of a package, from the module of the package in which it lives: the ``__getattr__`` of a package."""
    if name not in modules:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{package}.{modules[name]}"), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in EXTRAS:
            raise
        short = f"ip.{package.removeprefix('infopursuit').removeprefix('.')}.{name}".replace("..", ".")
        raise ImportError(f"{short} needs {missing}: pip install infopursuit[{EXTRAS[missing]}]") from error


def is_installed(package: str) -> bool:
    """Whether a package can be imported, without importing it."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
