"""A session as a form in a notebook. The state is that of the Python session; the form shows it and sends answers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from infopursuit.presentation import case
from infopursuit.presentation.notebook.cards import answers_in_words, framed, picture, posterior_rows
from infopursuit.presentation.report.page import drawable
from infopursuit.pursuit.explanation import Explanation, count
from infopursuit.pursuit.session import Session
from infopursuit.queries.groups import Groups
from infopursuit.queries.patches import Patches
from infopursuit.support.messages import load
from infopursuit.support.types import UNKNOWN, NonAnswer

MAX_BUTTONS, MAX_OPTIONS = 12, 1_000
"""Answers that get a button each; and those that are listed, more being written."""


def session_view(session: Session, error: str = "") -> dict[str, Any]:
    """What the form shows, as JSON data."""
    e = session.explanation
    stopped = None if session.stop_reason is None else f"It stopped because {load().reason(session.stop_reason)}."
    return {
        "question": None if session.question is None else _question(session, e),
        "posterior": [{"name": name, "share": p, "words": words} for name, p, words in posterior_rows(e)],
        "known": [{"question": step.name, "answer": step.said} for step in e.known],
        "answers": [{"question": step.sentence, "answer": step.said} for step in e.steps],
        "picture": picture(e, len(e), 144, framed(session)) if drawable(e) else "",
        "result": f"{e.prediction}: {e.say_probability()}",
        "summary": "" if drawable(e) else case.summary(e, session.pursuit.queries),
        "asked": f"after {count(len(e), 'question')}",
        "stopped": stopped,
        "warning": e.warning,
        "error": error,
    }


def _question(session: Session, e: Explanation) -> dict[str, Any]:
    """The question, and what it is answered with: a number, one of a few choices, cells, or written words."""
    question, queries = session.question, session.pursuit.queries
    assert question is not None
    scale, choices = queries.scale(question.index), question.choices
    found: dict[str, Any] = {"sentence": question.sentence, "number": None if scale is None else scale.describe()}
    found["hint"] = ""
    if isinstance(queries, Groups) and queries.components(question.index):
        parts = queries.components(question.index)
        found["cells"] = [{"name": part.name, "choices": list(part.choices), "value": UNKNOWN} for part in parts]
    elif isinstance(queries, Patches):
        found["columns"] = queries.size[1] * queries.channels
        found["hint"] = "Click a pixel to change it." if queries.n_levels == 2 else queries.hint(question.index)
        names = ["dark", "lit"] if queries.n_levels == 2 else [str(level) for level in range(queries.n_levels)]
        seen = e.revealed().ravel()[framed(session)].tolist()  # by patches that overlap
        found["cells"] = [{"name": f"pixel {k}", "choices": names, "value": v} for k, v in enumerate(seen, start=1)]
    elif scale is None and len(choices) <= MAX_OPTIONS:
        found["choices"], found["buttons"] = list(choices), len(choices) <= MAX_BUTTONS
    else:
        found["hint"] = answers_in_words(queries, question)
    return found


def take(session: Session, said: dict[str, Any]) -> None:
    """Do what the form asks for: {"do": "answer", "value": ...}, "unknown", "not_applicable", "later" or "undo"."""
    do = said.get("do")
    if do == "answer":
        session.answer(said["value"])
    elif do in ("unknown", "not_applicable"):
        session.answer(NonAnswer.NOT_APPLICABLE if do == "not_applicable" else None)
    elif do in ("later", "undo"):
        getattr(session, str(do))()
    else:
        raise ValueError(f"do={do!r:.40}; expected answer, unknown, not_applicable, later or undo")


@cache
def widget_class() -> Any:
    """The class of the form, made where anywidget is installed."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError(f"notebook.form(session) needs {error.name}; pip install 'infopursuit[notebook]'") from None
    here = files("infopursuit.presentation.notebook")

    class SessionWidget(anywidget.AnyWidget):
        """The form of a session; `refresh` shows answers that came from elsewhere."""

        _esm = here.joinpath("widget.js").read_text(encoding="utf-8")
        _css = here.joinpath("widget.css").read_text(encoding="utf-8")
        view = traitlets.Dict().tag(sync=True)

        def __init__(self, session: Session) -> None:
            super().__init__(view=session_view(session))
            self.session = session
            self.on_msg(self._take)

        def refresh(self, error: str = "") -> None:
            """Show the session as it is now."""
            turn = self.view.get("turn", 0) + 1  # the form waits for a change, also where nothing else has changed
            self.view = session_view(self.session, error) | {"turn": turn}

        def _take(self, _: Any, said: Any, __: Any) -> None:
            try:
                take(self.session, said)
                self.refresh()
            except (ValueError, TypeError, RuntimeError, LookupError) as error:
                self.refresh(str(error))

    return SessionWidget
