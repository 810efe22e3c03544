"""Regular expressions of the package cannot backtrack exponentially: none repeats without end what itself repeats
without end, unless something that the inner part cannot match stands between."""

import ast
import re
from pathlib import Path

import pytest

import infopursuit

ROOT = Path(infopursuit.__file__).parent
FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer"}


def patterns():
    """(where, pattern) of every literal, with f-strings as their fixed parts."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
            if call and getattr(node.func.value, "id", "") == "re" and node.func.attr in FUNCTIONS:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", first.value


def endless(pattern):
    """Whether an unbounded repetition holds another one that could take over its characters."""

    def walk(items, inside):
        for op, value in items:
            name = str(op)
            if name in ("MAX_REPEAT", "MIN_REPEAT"):
                _, high, inner = value
                unbounded = high == re._constants.MAXREPEAT
                if unbounded and inside and inside != "separated":
                    return True
                separated = len(inner) > 1 and any(str(o) in ("LITERAL", "IN") for o, _ in inner[:1])
                if walk(inner, ("separated" if separated else "yes") if unbounded else inside):
                    return True
            elif name == "SUBPATTERN":
                if walk(value[3], inside):
                    return True
            elif name == "BRANCH" and any(walk(each, inside) for each in value[1]):
                return True
        return False

    return walk(re._parser.parse(pattern), "")


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a*)*b", r"(?:\d+|x)*", r"((?:ab*)+)+"])
def test_what_backtracks_without_end_is_found(pattern):
    assert endless(pattern)


@pytest.mark.parametrize(("where", "pattern"), list(patterns()), ids=lambda each: each if ":" in each else "")
def test_no_expression_backtracks_without_end(where, pattern):
    assert not endless(pattern), where
