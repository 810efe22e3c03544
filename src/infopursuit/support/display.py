"""How objects show themselves: one-line reprs, and text that cannot steer a terminal."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, cast

import numpy as np

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff\ufffe\uffff]")
"""What no name needs: control characters, overrides of the direction of text, and what is no character."""
STEERING = re.compile(rf"\x1b(?!\[[\d;]*m)|(?!\x1b){CONTROL.pattern}")
MAX_SHOWN = 44
"""Characters of a value in a repr."""


class Brief:
    """A dataclass, made with ``repr=False``, in one line: arrays by their shape, long values cut, nothing empty.

    >>> from infopursuit.support.types import Observed
    >>> Observed(np.zeros((20, 3), int))
    Observed(values=<20 x 3 int64>)
    """

    def __repr__(self) -> str:
        told = ((each.name, getattr(self, each.name)) for each in fields(cast(Any, self)) if each.repr)
        given = ((name, value) for name, value in told if not any(value is nothing for nothing in (None, False, ())))
        shown = (f"{name}={_short(value)}" for name, value in given)
        return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        small = value.size <= 6
        return _short(value.tolist()) if small else f"<{' x '.join(map(str, value.shape))} {value.dtype}>"
    if isinstance(value, (tuple, list, dict)) and len(value) > 6:
        return f"<{len(value):,} entries>"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if type(value) in (tuple, list):
        text = ", ".join(map(_short, value))
        text = f"({text})" if isinstance(value, tuple) else f"[{text}]"
    elif type(value) is dict:
        text = f"{{{', '.join(f'{key!r}: {_short(each)}' for key, each in value.items())}}}"
    else:
        text = " ".join(repr(value).split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def printable(text: str) -> str:
    """Text for a terminal: names, labels and cells of a table must not steer it, so that only new lines, tabs and
    colours stay of what is no character.

    >>> printable("a\\x1b[2Jb")
    'a�[2Jb'
    """
    return STEERING.sub("\ufffd", text)
