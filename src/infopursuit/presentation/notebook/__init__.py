"""What a notebook shows of a classifier, a pursuit, a trace, an explanation and a session: cards of HTML.

>>> import infopursuit as ip
>>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.01]])
>>> trace = ip.generative_pursuit(model, ip.queries.concepts(["has wings"]), classes=["bird", "cat"]).run([[1]])
>>> card = ip.notebook.explanation_html(trace[0])
>>> card.startswith("<div"), "has wings" in card, "<script" in card
(True, True, False)
"""

from __future__ import annotations

from typing import Any

from infopursuit.presentation.notebook.cards import (
    card_of,
    classifier_html,
    explanation_html,
    pursuit_html,
    queries_html,
    session_html,
    trace_html,
)
from infopursuit.pursuit.session import Session

__all__ = [
    "card_of",
    "classifier_html",
    "explanation_html",
    "form",
    "pursuit_html",
    "queries_html",
    "session_html",
    "trace_html",
]


def form(session: Session) -> Any:
    """A session as a form in a notebook: Jupyter, VS Code, Colab (extra ``notebook``).

    Its answers are those of the session: ``session.explanation`` in the next cell has them.
    """
    from infopursuit.presentation.notebook.widget import widget_class

    return widget_class()(session)
