"""Every module of the benchmarks can be imported, and the examples in its docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import benchmarks

NAMES = sorted(found.name for found in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_run(name):
    assert doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
