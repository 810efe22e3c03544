"""HTML cards in notebooks: objects of the core ask for one, and presentation draws it."""

from __future__ import annotations

from collections.abc import Callable

Renderer = Callable[[object], str]

_renderers: list[Renderer] = []


class NotebookCard:
    """An object that a notebook shows as a card of HTML."""

    def _repr_html_(self) -> str:
        return draw_card(self)


def draw_card(shown: object) -> str:
    """The card of an object, as presentation draws it."""
    return _renderers[-1](shown)


def register_renderer(renderer: Renderer) -> None:
    """Let a function draw the cards; the package registers its own when it is imported."""
    _renderers.append(renderer)
