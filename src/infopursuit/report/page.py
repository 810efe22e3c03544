"""The page: a summary over a batch and single explanations, in one HTML file without scripts and without a network."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from infopursuit.explanation import REASONS, Explanation, percent
from infopursuit.plots.style import shown_steps
from infopursuit.report.markup import bars, foreign, histogram, text
from infopursuit.report.pictures import MOST_PIXELS, asked_picture, grey, revealed_picture
from infopursuit.report.summary import Summary, most_common, same_class
from infopursuit.trace import Trace

MOST = 50
"""Explanations in one page, where nobody says."""
MOST_STEPS, ALL_STEPS = 20, 1000
"""Of more steps than this an explanation shows the last and those that moved the belief most: one among others, and one
that has the page to itself."""
MOST_CLASSES = 4
"""Classes that have a bar of their own after every answer; the others share one."""
MOST_ROWS = 10
"""Rows of a list in the summary."""


@dataclass(frozen=True)
class Shown:
    """An explanation as it stands in a page. name: what its input is called. image, truth: None where not known."""

    explanation: Explanation
    name: str
    image: Any = None
    truth: Any = None


def trace_page(
    trace: Trace, *, images: Any = None, truth: Any = None, names: Sequence[Any] | None = None, most: int = MOST,
    title: str | None = None,
) -> str:  # fmt: skip
    """A batch as a page.

    Parameters
    ----------
    images: (B, ...) the images that were asked about, where the queries are patches; others are not looked at.
    truth: (B,) the true classes; None where they are not known.
    names: (B,) what the inputs are called; "Input 1", "Input 2", ... where nothing is given.
    most: at most this many explanations, the first; the summary is about all inputs.
    title: the headline.
    """
    if most < 0:
        raise ValueError(f"most={most}; give the number of explanations that the page may have, 0 or more")
    for what, given in (("images", images), ("truth", truth), ("names", names)):
        if given is not None and len(given) != len(trace):
            raise ValueError(f"{what} has {len(given)} entries for {len(trace)} inputs; give one for each")
    return batch_page(Summary().add(trace, truth), show(trace, most, images, truth, names), title=title)


def show(trace: Trace, most: int, images: Any = None, truth: Any = None, names: Sequence[Any] | None = None,
         start: int = 0) -> list[Shown]:  # fmt: skip
    """The first explanations of a trace as they stand in a page; ``start``: inputs that came before this trace."""
    rows = range(min(most, len(trace)))
    return [
        Shown(
            trace[i],
            f"Input {start + i + 1}" if names is None else str(names[i]),
            None if images is None else images[i],
            None if truth is None else truth[i],
        )
        for i in rows
    ]


def explanation_page(
    explanation: Explanation, *, image: Any = None, truth: Any = None, title: str | None = None
) -> str:
    """One explanation as a page; ``image`` and ``truth`` where they are known."""
    head = title or f"{explanation.prediction}: why"
    article = _article(Shown(explanation, "", image, truth), 1, ALL_STEPS)
    return _document(head, f"<h1>{foreign(head)}</h1>{article}")


def batch_page(summary: Summary, shown: Sequence[Shown], *, title: str | None = None) -> str:
    """A summary and explanations as a page."""
    head = title or "Explanations"
    parts = [f"<h1>{foreign(head)}</h1>", _summary(summary)]
    if shown:
        part = f"the first {len(shown):,} of {summary.n_inputs:,}" if len(shown) < summary.n_inputs else "all of them"
        parts.append(f"<section><h2>Single explanations</h2><p>Here are {part}. The answers that were asked for are "
                     "the whole of the evidence: nothing else about the input was looked at.</p>")  # fmt: skip
        parts += [_article(one, number) for number, one in enumerate(shown, start=1)]
        parts.append("</section>")
    elif summary.n_inputs:
        parts.append("<p>Single explanations were left out of this page.</p>")
    return _document(head, "".join(parts))


# ---- the summary ----------------------------------------------------------------------------------------------------


def _summary(summary: Summary) -> str:
    n = summary.n_inputs
    if not n:
        return "<p>There are no inputs.</p>"
    figures = [("inputs", f"{n:,}")]
    if summary.n_right is not None:
        figures.append(("named right", f"{100 * summary.n_right / n:.1f} %"))
    if summary.n_unlike is not None:
        figures.append(("unlike training", f"{100 * summary.n_unlike / n:.1f} %"))
    figures += [("questions on average", f"{summary.mean_length:.1f}"), ("questions at most", f"{summary.longest}")]
    listed = "".join(f"<div><dt>{text(what)}</dt><dd>{text(value)}</dd></div>" for what, value in figures)
    reasons = Counter({REASONS.get(reason, reason): count for reason, count in summary.reasons.items()})
    lengths = histogram(summary.length_columns(), "inputs by number of questions")
    cards = [
        ("How many questions it took", f'{lengths}<p class="faint">inputs, by number of questions asked</p>'),
        ("What came out", _counted(summary.predictions, n)),
        ("What was asked first", _counted(summary.first, n)),
        ("What was asked at all", _counted(summary.asked, n, others=False)),
        ("Why it stopped", _counted(reasons, n)),
    ]
    drawn = "".join(f'<div class="card"><h3>{text(head)}</h3>{body}</div>' for head, body in cards)
    return f'<section><h2>All together</h2><dl class="figures">{listed}</dl><div class="cards">{drawn}</div></section>'


def _counted(counts: Counter[str], n: int, *, others: bool = True) -> str:
    """The most frequent with their share of the inputs."""
    rows, n_more, rest = most_common(counts, MOST_ROWS)
    lines = [(foreign(name), count / n, _share(count, n), "rest") for name, count in rows]
    if n_more and others:
        lines.append((f"{n_more:,} more", rest / n, _share(rest, n), "rest"))
    more = f'<p class="faint">and {n_more:,} more</p>' if n_more and not others else ""
    return (bars(lines) if lines else '<p class="faint">nothing</p>') + more


def _share(count: int, n: int) -> str:
    return f"{count:,} ({percent(count / n)})"


# ---- an explanation -------------------------------------------------------------------------------------------------


def _article(shown: Shown, number: int, most_steps: int = MOST_STEPS) -> str:
    e = shown.explanation
    steps = shown_steps(e, most_steps)
    n = len(e)
    said = [f"With a probability of {percent(e.confidence)}, after {n} question{'' if n == 1 else 's'}."]
    why = REASONS.get(e.stopped_because, e.stopped_because)
    said.append("It has not stopped yet." if e.stopped_because == "open" else f"It stopped because {why}.")
    if e.n_checks:
        last = "question" if e.n_checks == 1 else f"{e.n_checks} questions"
        said.append(f"The last {last} came after that, to check that it is like training.")
    if len(steps) < n:
        said.append(f"Here are {len(steps)} of the {n} steps: the last and those that moved the belief most.")
    if not e.exact_gains:
        error = max((step.gain_error for step in e.steps), default=0.0)
        said.append(f"Gains were estimated (standard error up to {error:.3f} nats).")
    name = f"{foreign(shown.name)}: " if shown.name else ""
    mark, correction = _judged(shown)
    pixels = None if shown.image is None or not _drawable(e) else grey(shown.image, e.shape or (0, 0))
    return (
        f'<article id="e{number}"><div class="head"><h3><span>{name}{foreign(e.prediction)}</span>{mark}</h3>'
        f"{correction}{_warned(e)}<p>{text(' '.join(said))}</p></div>"
        f"{_pictures(e, pixels, n) if _drawable(e) and n else ''}"
        f'<ol class="steps">{_before(e, shown.truth)}{"".join(_step(e, k, pixels, shown.truth) for k in steps)}</ol>'
        f"</article>"
    )


def _judged(shown: Shown) -> tuple[str, str]:
    """A mark for the headline and a sentence below it, both empty where the truth is not known."""
    if shown.truth is None:
        return "", ""
    if same_class(shown.explanation.prediction, shown.truth):
        return '<span class="badge right">right</span>', ""
    return '<span class="badge wrong">wrong</span>', f"<p>It is {foreign(shown.truth)}.</p>"


def _warned(e: Explanation) -> str:
    return f'<p class="warning">{text(e.warning)}</p>' if e.warning else ""


def _before(e: Explanation, truth: Any) -> str:
    return (
        f'<li class="step"><span class="count"></span><p class="faint">Before any question</p>'
        f"{_belief(e, np.asarray(e.prior), truth)}</li>"
    )


def _step(e: Explanation, k: int, pixels: Any, truth: Any) -> str:
    step = e.steps[k]
    drawn = _drawable(e)
    answer = "" if drawn and step.answer is not None else f'<p class="answer">{foreign(step.said)}</p>'
    gain = "" if np.isnan(step.gain) else f'<p class="tells">expected to tell {step.gain:.2f} nats</p>'
    pictures = _pictures(e, pixels, k + 1) if drawn else ""
    return (
        f'<li class="step"><span class="count">{k + 1}.</span><div><p>{foreign(step.sentence)}</p>{answer}'
        f"{pictures}{gain}</div>"
        f"{_belief(e, np.asarray(step.posterior), truth)}</li>"
    )


def _pictures(e: Explanation, pixels: Any, upto: int) -> str:
    asked = "" if pixels is None else f"<figure>{asked_picture(pixels, e, upto)}<figcaption>asked</figcaption></figure>"
    seen = f"<figure>{revealed_picture(e, upto)}<figcaption>seen</figcaption></figure>"
    return f'<div class="pictures">{asked}{seen}</div>'


def _belief(e: Explanation, posterior: Any, truth: Any) -> str:
    """The same classes after every answer, so that bars can be compared down the page."""
    classes = leading_classes(e, truth)
    winner = int(e.posteriors[-1].argmax())
    first, second = np.sort(posterior)[::-1][:2] if len(posterior) > 1 else (1.0, 0.0)
    best = int(posterior.argmax()) if first - second > 0.005 else -1  # nobody leads by what is not seen
    rows = []
    for c in classes:
        true = truth is not None and same_class(e.classes[c], truth)
        kind = "right" if true else "win" if c == winner and truth is None else "wrong" if c == winner else "rest"
        name = foreign(e.classes[c])
        marked = f'<span class="best">{name}</span>' if c == best else name
        rows.append((marked, float(posterior[c]), percent(float(posterior[c])), kind))
    n_others = len(e.classes) - len(classes)
    if n_others:
        rest = max(0.0, 1.0 - float(posterior[classes].sum()))
        rows.append((f"{n_others:,} other{'' if n_others == 1 else 's'}", rest, percent(rest), "rest"))
    return bars(rows)


def leading_classes(e: Explanation, truth: Any = None, most: int = MOST_CLASSES) -> list[int]:
    """The classes that get a bar: those that were most probable in the end or at some step, and the true one."""
    p = e.posteriors
    weight = p[-1] + 0.5 * p[1:].max(axis=0, initial=0)
    weight[int(p[-1].argmax())] += 2
    weight += [2.0 * (truth is not None and same_class(name, truth)) for name in e.classes]
    few = most + 1 if len(e.classes) <= most + 1 else most  # one other class needs no "1 other"
    chosen = np.argsort(-weight, kind="stable")[:few]
    return [int(c) for c in chosen[np.argsort(-p[-1][chosen], kind="stable")]]


def _drawable(e: Explanation) -> bool:
    return e.shape is not None and e.shape[0] * e.shape[1] <= MOST_PIXELS


# ---- the file -------------------------------------------------------------------------------------------------------


@cache
def style() -> str:
    """How a page looks."""
    return files("infopursuit.report").joinpath("page.css").read_text(encoding="utf-8")


def _document(title: str, body: str) -> str:
    # the policy names the one style by its digest: no script, no other style, and nothing from anywhere else
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>",
            f"<style>{style()}</style>",
            "</head>",
            f"<body>\n<main>\n{body}\n</main>",
            "<footer>Written by infopursuit. Each question was chosen for what it was expected to tell about the "
            "label; the bars are what was believed after its answer.</footer>",
            "</body>\n</html>\n",
        ]
    )
