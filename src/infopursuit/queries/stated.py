"""Entries of a saved query set, each of the kind that it must have: what a stranger wrote is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def texts(spec: Mapping[str, Any], name: str, *, different: bool = False) -> list[str]:
    """A list of texts.

    >>> texts({"names": ["a", "b"]}, "names")
    ['a', 'b']
    """
    found = spec[name]
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{name} is {found!r:.80}; expected a list of texts")
    if different and len(set(found)) < len(found):
        raise ValueError(f"{name} has a text twice; expected different ones")
    return found


def text(spec: Mapping[str, Any], name: str) -> str:
    """A text."""
    found = spec[name]
    if not isinstance(found, str):
        raise ValueError(f"{name} is {found!r:.80}; expected a text")
    return found


def flag(spec: Mapping[str, Any], name: str) -> bool:
    """True or false."""
    found = spec[name]
    if not isinstance(found, bool):
        raise ValueError(f"{name} is {found!r:.80}; expected true or false")
    return found


def rows_of_texts(spec: Mapping[str, Any], name: str) -> list[list[str]]:
    """A list of lists of texts."""
    found = spec[name]
    if not isinstance(found, list):
        raise ValueError(f"{name} is {found!r:.80}; expected a list of lists of texts")
    return [texts({name: row}, name) for row in found]


def counts(spec: Mapping[str, Any], name: str, n: int, most: int = 2**31) -> tuple[int, ...]:
    """n whole numbers from 1 on."""
    found = spec[name]
    if not isinstance(found, list) or len(found) != n or not all(type(c) is int and 1 <= c < most for c in found):
        raise ValueError(f"{name} is {found!r:.80}; expected {n} whole numbers from 1 on")
    return tuple(found)
