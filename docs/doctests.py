"""Fences the examples in docstrings, which Markdown would otherwise take for quotations of quotations."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n.*\S.*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Wraps each run of lines from ``>>>`` to the next empty line. Indented ones are left: a section holds them."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called by griffe for each module, class, function and attribute that it has read."""
        if obj.docstring and "```" not in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(lambda example: f"```pycon\n{example[0]}\n```", obj.docstring.value)
