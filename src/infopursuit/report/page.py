"""HTML reports: the summary of a batch and single explanations, in one file without scripts and without a network."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.checks import whole_number
from infopursuit.explanation import Explanation, ExplanationStep, count, percent, reason_text
from infopursuit.report.summary import Summary, most_common, same_class
from infopursuit.trace import Trace

if TYPE_CHECKING:
    from jinja2 import Template

MOST = 50  # explanations in one page by default
MAX_STEPS, MAX_STEPS_ALONE = 20, 1000  # in longer explanations: the last step and the most influential ones
MAX_CLASSES = 4  # that have a bar of their own after every answer; the others share one
MAX_ROWS = 10  # of a list in the summary
MAX_PIXELS = 512 * 512  # larger images are not drawn
UNSEEN, DARK, LIT = (np.array(each) for each in ((128, 134, 142), (16, 18, 22), (255, 255, 255)))
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

View = dict[str, Any]  # what the template shows


@dataclass(frozen=True)
class Shown:
    """An explanation of a page. name: of its input. image, truth: None where not known."""

    explanation: Explanation
    name: str
    image: Any = None
    truth: Any = None


def trace_page(
    trace: Trace, *, images: Any = None, truth: Any = None, names: Sequence[Any] | None = None, max_inputs: int = MOST,
    title: str | None = None,
) -> str:  # fmt: skip
    """A batch as a page: a summary of all inputs, and the first ``max_inputs`` explanations.

    images: (B, ...), drawn where the queries are patches. truth: (B,) the true classes. names: (B,) of the inputs.
    """
    whole_number(max_inputs, "max_inputs")
    for what, given in (("images", images), ("truth", truth), ("names", names)):
        if given is not None and len(given) != len(trace):
            raise ValueError(f"{what} has {len(given)} entries for {len(trace)} inputs; give one for each")
    return batch_page(Summary().add(trace, truth), show(trace, max_inputs, images, truth, names), title=title)


def show(trace: Trace, most: int, images: Any = None, truth: Any = None, names: Any = None) -> list[Shown]:
    """The first explanations of a trace."""
    nothing = [None] * len(trace)
    images, truth = (nothing if given is None else given for given in (images, truth))
    names = [f"Input {i + 1}" for i in range(len(trace))] if names is None else names
    return [Shown(trace[i], str(names[i]), images[i], truth[i]) for i in range(min(most, len(trace)))]


def explanation_page(e: Explanation, *, image: Any = None, truth: Any = None, title: str | None = None) -> str:
    """One explanation as a page; ``image`` and ``truth`` where they are known."""
    article = _article(Shown(e, "", image, truth), 1, MAX_STEPS_ALONE)
    return _render(title=title or f"{e.prediction}: why", summary=None, articles=[article])


def batch_page(summary: Summary, shown: Sequence[Shown], *, title: str | None = None) -> str:
    """A summary and explanations as a page."""
    n = summary.n_inputs
    part = f"the first {len(shown):,} of {n:,}" if len(shown) < n else "all of them"
    articles = [_article(one, number) for number, one in enumerate(shown, start=1)]
    return _render(title=title or "Explanations", summary=_summary(summary), articles=articles, part=part)


def _render(**views: Any) -> str:
    style = files("infopursuit.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    # the policy names the one style by its digest: no script, no other style, and nothing from anywhere else
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _template().render(style=style, digest=digest, **views)


@cache
def _template() -> Template:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("an HTML report needs jinja2; pip install 'infopursuit[report]'") from None
    environment = Environment(
        loader=PackageLoader("infopursuit.report"), autoescape=True, undefined=StrictUndefined, finalize=_printable,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template("page.html.jinja")


def _printable(value: Any) -> Any:
    """Replace control characters and lone surrogates; the template escapes markup."""
    return value if hasattr(value, "__html__") else CONTROL.sub("\ufffd", str(value))


def _summary(summary: Summary) -> View:
    n = summary.n_inputs
    if not n:
        return {}
    figures = [("inputs", f"{n:,}")]
    if summary.n_right is not None:
        figures.append(("accuracy", f"{100 * summary.n_right / n:.1f} %"))
    if summary.n_novel is not None:
        figures.append(("out of distribution", f"{100 * summary.n_novel / n:.1f} %"))
    figures += [("questions on average", f"{summary.mean_length:.1f}"), ("questions at most", f"{summary.longest}")]
    reasons = Counter({reason_text(reason): count for reason, count in summary.reasons.items()})
    lengths = [_bar(name, count / n, f"{count:,} ({percent(count / n)})") for name, count in summary.length_groups()]
    cards = [
        {"title": "Number of questions", "rows": lengths, "n_more": ""},
        _counted("Predictions", summary.predictions, n),
        _counted("First question", summary.first, n),
        _counted("Questions asked", summary.asked, n, others=False),
        _counted("Reason for stopping", reasons, n),
    ]
    return {"figures": figures, "cards": cards}


def _counted(title: str, counts: Counter[str], n: int, *, others: bool = True) -> View:
    """The most frequent with their share of the inputs."""
    rows, n_more, rest = most_common(counts, MAX_ROWS)
    if n_more and others:
        rows = [*rows, (f"{n_more:,} more", rest)]
    bars = [_bar(name, count / n, f"{count:,} ({percent(count / n)})") for name, count in rows]
    return {"title": title, "rows": bars, "n_more": f"{n_more:,}" if n_more and not others else ""}


def _bar(name: Any, share: float, number: str, kind: str = "rest", best: bool = False) -> View:
    width = f"{100 * max(0.0, min(share, 1.0)):.4g}"
    return {"name": name, "width": width, "number": number, "kind": kind, "best": best}


def _article(shown: Shown, number: int, max_steps: int = MAX_STEPS) -> View:
    e, truth = shown.explanation, shown.truth
    steps, n = e.shown_steps(max_steps), len(e)
    text = [f"With a probability of {e.probability}, after {count(n, 'question')}."]
    why = reason_text(e.stop_reason)
    text.append("It has not stopped yet." if e.stop_reason == "open" else f"It stopped because {why}.")
    if e.known:
        text.insert(0, f"Before any question: {'; '.join(step.phrase for step in e.known)}.")
    if e.n_novelty_queries:
        last = "question" if e.n_novelty_queries == 1 else f"{e.n_novelty_queries} questions"
        text.append(f"The last {last} were asked after that, to detect a novel input.")
    if len(steps) < n:
        text.append(
            f"Here are {len(steps)} of the {n} steps: the last and those with the most influence on the posterior."
        )
    if not e.exact_gains:
        error = max((step.gain_error for step in e.steps), default=0.0)
        text.append(f"Gains were estimated (standard error up to {error:.3f} nats).")
    pixels = None if shown.image is None or not _drawable(e) else _bytes(e.colours(shown.image), e.channels)
    return {
        "number": number, "name": shown.name, "prediction": e.prediction, "truth": truth, "warning": e.warning,
        "correct": None if truth is None else same_class(e.prediction, truth), "text": " ".join(text),
        "pictures": _pictures(e, pixels, n) if n else [], "prior": _posterior(e, np.asarray(e.prior), truth),
        "steps": [_step(e, k, pixels, truth) for k in steps],
    }  # fmt: skip


def _step(e: Explanation, k: int, pixels: Any, truth: Any) -> View:
    step = e.steps[k]
    return {
        "number": k + 1, "sentence": step.sentence, "gain": "" if np.isnan(step.gain) else f"{step.gain:.2f}",
        "answer": None if _drawable(e) and step.answer is not None else step.said,
        "pictures": _pictures(e, pixels, k + 1), "posterior": _posterior(e, np.asarray(step.posterior), truth),
    }  # fmt: skip


def _posterior(e: Explanation, posterior: Any, truth: Any) -> list[View]:
    """Bars of the same classes after every answer, so that they can be compared down the page."""
    classes = leading_classes(e, truth)
    winner = int(e.posteriors[-1].argmax())
    first, second = np.sort(posterior)[::-1][:2] if len(posterior) > 1 else (1.0, 0.0)
    best = int(posterior.argmax()) if first - second > 0.005 else -1  # nobody leads by what is not seen
    rows = []
    for c in classes:
        true = truth is not None and same_class(e.classes[c], truth)
        kind = "right" if true else "rest" if c != winner else "win" if truth is None else "wrong"
        rows.append(_bar(e.classes[c], float(posterior[c]), percent(float(posterior[c])), kind, c == best))
    if n_others := len(e.classes) - len(classes):
        rest = max(0.0, 1.0 - float(posterior[classes].sum()))
        rows.append(_bar(f"{n_others:,} other{'' if n_others == 1 else 's'}", rest, percent(rest)))
    return rows


def leading_classes(e: Explanation, truth: Any = None, most: int = MAX_CLASSES) -> list[int]:
    """The classes that get a bar: those that were most probable in the end or at some step, and the true one."""
    p = e.posteriors
    weight = p[-1] + 0.5 * p[1:].max(axis=0, initial=0)
    weight[int(p[-1].argmax())] += 2
    weight += [2.0 * (truth is not None and same_class(name, truth)) for name in e.classes]
    few = most + 1 if len(e.classes) <= most + 1 else most  # one other class needs no "1 other"
    chosen = np.argsort(-weight, kind="stable")[:few]
    return [int(c) for c in chosen[np.argsort(-p[-1][chosen], kind="stable")]]


def _pictures(e: Explanation, pixels: Any, upto: int) -> list[View]:
    """The image with the first ``upto`` patches, the newest in a thick box; and all that these patches revealed."""
    if e.shape is None or not _drawable(e):
        return []
    rows, columns = e.shape
    boxes = [_box(e, step, "asked") for step in e.steps[: upto - 1]] + [_box(e, e.steps[upto - 1], "now")]
    seen = e.brightness(upto)
    hidden = np.isnan(seen).all(axis=2)
    shades = np.where(np.isnan(seen), UNSEEN, DARK + seen * (LIT - DARK)).round()
    known = f"{int((~hidden).sum())} of {hidden.size} pixels, the rest grey"
    size = {"rows": rows, "columns": columns}
    revealed = f"what was seen after {count(upto, 'question')}: {known}"
    found = [{**size, "uri": png(shades), "label": revealed, "boxes": boxes[-1:], "caption": "seen"}]
    if pixels is not None:
        label = f"the image with {count(upto, 'patch', 'patches')} asked about"
        found.insert(0, {**size, "uri": png(pixels), "label": label, "boxes": boxes, "caption": "asked"})
    return found


def _drawable(e: Explanation) -> bool:
    return e.shape is not None and e.shape[0] * e.shape[1] <= MAX_PIXELS


def _box(e: Explanation, step: ExplanationStep, kind: str) -> View:
    rows, places = np.array(sorted(e.pixels(step))).T
    x, y = int(places.min()), int(rows.min())
    return {"kind": kind, "x": x, "y": y, "width": int(places.max()) - x + 1, "height": int(rows.max()) - y + 1}


def _bytes(colours: Any, channels: int) -> Any:
    """Colours from 0 to 1 as bytes, grey ones once."""
    return np.round(255 * np.nan_to_num(colours if channels > 1 else colours[..., 0])).astype(np.uint8)


def png(pixels: Any) -> str:
    """(rows, columns) grey or (rows, columns, 3) colour bytes as a data URI."""
    array = np.ascontiguousarray(pixels, dtype=np.uint8)
    rows, columns = array.shape[:2]
    lines = b"".join(b"\x00" + line.tobytes() for line in array)  # each line begins with its filter, none
    head = struct.pack(">IIBBBBB", columns, rows, 8, 2 if array.ndim == 3 else 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"
