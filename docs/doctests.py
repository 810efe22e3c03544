"""Makes docstrings, which are written for the eye, into Markdown: examples are fenced, parameters become a list."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n.*\S.*)*", re.MULTILINE)
"""From ``>>>`` to the next empty line. Indented ones are left: a section holds them."""
PARAMETERS = re.compile(r"^Parameters\n-+\n((?:.*\S.*(?:\n|$))+)", re.MULTILINE)
"""A heading and the lines up to the next empty one; each entry is ``names: text``, its further lines are indented."""
ENTRY = re.compile(r"^(\w[\w, *]*): ", re.MULTILINE)


class Doctests(griffe.Extension):
    """Rewrites each docstring before it is turned into a page."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called by griffe for each module, class, function and attribute that it has read."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """A docstring as Markdown, which would otherwise take examples for quotations and parameters for one paragraph.

    >>> print(markdown("Adds.\\n\\nParameters\\n----------\\na, b: numbers,\\n    whole.\\n"))
    Adds.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `a, b`: numbers,
        whole.
    <BLANKLINE>
    """
    if "```" not in text:
        text = EXAMPLE.sub(lambda example: f"```pycon\n{example[0]}\n```", text)
    return PARAMETERS.sub(lambda found: "**Parameters**\n\n" + ENTRY.sub(r"- `\1`: ", found[1]), text)
