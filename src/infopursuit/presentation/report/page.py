"""HTML reports: one case on a page or two; a batch with a summary, an index and single explanations. One file each."""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.presentation import case
from infopursuit.presentation.performance import Performance
from infopursuit.presentation.report.summary import Summary, most_common, same_class
from infopursuit.presentation.verdict import CERTAIN, PROBABLE
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.trace import Trace
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.checks import whole_number
from infopursuit.support.display import CONTROL
from infopursuit.support.messages import Messages, load

if TYPE_CHECKING:
    from jinja2 import Template

MOST = 50  # explanations in one page by default
MAX_STEPS, MAX_STEPS_ALONE = 20, 1000  # in longer explanations: the last step and the most influential ones
MAX_CLASSES = 4  # that have a bar of their own after every answer; the others share one
MAX_ROWS = 10  # of a list in the summary
MAX_INDEX = 1000  # inputs in the index
CONFIDENCES = ((CERTAIN, 1.01), (PROBABLE, CERTAIN), (0.0, PROBABLE))  # that can be filtered by
MAX_PIXELS = 512 * 512  # larger images are not drawn
UNSEEN, DARK, LIT = (np.array(each) for each in ((128, 134, 142), (16, 18, 22), (255, 255, 255)))

View = dict[str, Any]  # what the template shows


@dataclass(frozen=True)
class Shown:
    """An explanation of a page. name: of its input. image, truth: None where not known."""

    explanation: Explanation
    name: str
    image: Any = None
    truth: Any = None


@dataclass(frozen=True)
class Row:
    """An input of the index. truth: None where it is not known."""

    name: str
    prediction: str
    confidence: float
    length: int
    truth: Any = None


def trace_page(
    trace: Trace, *, images: Any = None, truth: Any = None, names: Sequence[Any] | None = None, max_inputs: int = MOST,
    title: str | None = None, language: str | None = None,
) -> str:  # fmt: skip
    """A batch as a page: a summary of all inputs, an index, and the first ``max_inputs`` explanations.

    images: (B, ...), drawn where the queries are patches. truth: (B,) the true classes. names: (B,) of the inputs.
    """
    whole_number(max_inputs, "max_inputs")
    for what, given in (("images", images), ("truth", truth), ("names", names)):
        if given is not None and len(given) != len(trace):
            raise ValueError(f"{what} has {len(given)} entries for {len(trace)} inputs; give one for each")
    summary, words = Summary().add(trace, truth), load(language)
    shown = show(trace, max(max_inputs, 0), images, truth, names, words)
    called = _names(trace, names, words)
    told: Any = [None] * len(trace) if truth is None else np.asarray(truth).tolist()
    index = [
        Row(called[i], str(trace.predictions[i]), float(trace.posterior[i].max()), int(trace.length[i]), told[i])
        for i in range(min(len(trace), MAX_INDEX))
    ]
    about: Any = {"label": trace.label_name, "queries": trace.query_set}
    return batch_page(summary, shown, index, title=title, words=words, **about)


def _names(trace: Trace, names: Any, words: Messages) -> list[str]:
    return [words("report.input", k=i + 1) for i in range(len(trace))] if names is None else [str(n) for n in names]


def show(
    trace: Trace, most: int, images: Any = None, truth: Any = None, names: Any = None, words: Messages | None = None
) -> list[Shown]:
    """The first explanations of a trace."""
    nothing, called = [None] * len(trace), _names(trace, names, words or load())
    images, truth = (nothing if given is None else given for given in (images, truth))
    return [Shown(trace[i], called[i], images[i], truth[i]) for i in range(min(most, len(trace)))]


def explanation_page(
    e: Explanation, *, image: Any = None, truth: Any = None, title: str | None = None, language: str | None = None,
    about: case.About | None = None,
) -> str:  # fmt: skip
    """One explanation as a page; ``image`` and ``truth`` where they are known, ``about`` as `case.about` makes it."""
    words, about = load(language), about or case.About()
    article = _article(Shown(e, "", image, truth), 1, words, None, MAX_STEPS_ALONE)
    article |= {"summary": about.summary or article["summary"], "why_not": about.why_not}
    version = about.version and words("report.version", version=about.version)
    facts = [
        (words("report.prediction"), e.say_verdict(words)),
        (words("report.truth"), "" if truth is None else str(truth)),
        (words("report.n_questions"), str(len(e)) if e.cost is None else e.say_length(words)),
        (words("report.case"), about.name if title else ""),
        (words("report.date"), about.date),
        (words("report.model"), words.texts["comma"].join(filter(None, (about.model, version)))),
    ]
    calibration = about.calibration or ("" if e.calibrated else words("calibration.none"))
    shown = {
        "facts": [fact for fact in facts if fact[1]],
        "performance": _performance(about.performance, e.label_name, words),
        "calibration": calibration,
        "article": article,
    }
    case_title = words("report.case_title", name=about.name) if about.name.isdigit() else about.name
    title = title or case_title or e.say_outcome(words)
    return _render(words, title=title, case=shown, summary=None, articles=[], index=[], label=e.label_name)


def batch_page(
    summary: Summary, shown: Sequence[Shown], index: Sequence[Row] = (), *, title: str | None = None,
    words: Messages | None = None, label: str = "", queries: QuerySet | None = None,
    performance: Performance | None = None,
) -> str:  # fmt: skip
    """A summary, an index and explanations as a page. label: what the classes are values of. performance: how often the
    model is right."""
    words, n = words or load(), summary.n_inputs
    articles = [_article(one, number, words, queries) for number, one in enumerate(shown, start=1)]
    rows = [_row(row, k, k <= len(articles), words) for k, row in enumerate(index, start=1)]
    left = [words("report.first_of", shown=f"{len(part):,}", all=f"{n:,}") if len(part) < n else ""
            for part in (index, shown)]  # fmt: skip
    return _render(
        words, title=title or words("report.title"), case=None, summary=_summary(summary, words), articles=articles,
        performance=_performance(performance, label, words),
        index=rows, label=label or words("report.prediction"), left=left, filters=_filters(index, words),
        judged=any(row.truth is not None for row in index),
    )  # fmt: skip


def _render(words: Messages, **views: Any) -> str:
    folder = files("infopursuit.presentation.report").joinpath("templates")
    style, script = (folder.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    # the policy names the one style and the one script by their digests, and allows nothing from anywhere else
    digests = {name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
               for name, text in (("style", style), ("script", script))}  # fmt: skip
    return _template().render(style=style, script=script, digests=digests, t=words, **views)


@cache
def _template() -> Template:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("an HTML report needs jinja2; pip install 'infopursuit[report]'") from None
    environment = Environment(
        loader=PackageLoader("infopursuit.presentation.report"), autoescape=True, undefined=StrictUndefined,
        finalize=_printable, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template("page.html.jinja")


def _printable(value: Any) -> Any:
    """Replace control characters and lone surrogates; the template escapes markup."""
    return value if hasattr(value, "__html__") else CONTROL.sub("\ufffd", str(value))


# ---- a batch --------------------------------------------------------------------------------------------------------


def _summary(summary: Summary, words: Messages) -> View:
    n = summary.n_inputs
    if not n:
        return {}

    def share(part: float) -> str:
        return words("percent", p=words.number(f"{100 * part / n:.1f}"))

    figures = [("inputs", f"{n:,}")]
    if summary.n_right is not None:
        figures.append(("accuracy", share(summary.n_right)))
    if summary.n_novel is not None:
        figures.append(("novel", share(summary.n_novel)))
    figures += [("mean_questions", words.number(f"{summary.mean_length:.1f}")), ("max_questions", str(summary.longest))]
    reasons = Counter({words.reason(reason): count for reason, count in summary.reasons.items()})
    cards = [
        {"title": words("report.lengths"), "rows": _bars(summary.length_groups(), n, words), "n_more": ""},
        _counted("predictions", summary.predictions, n, words),
        _counted("first", summary.first, n, words),
        _counted("asked", summary.asked, n, words, others=False),
        _counted("reasons", reasons, n, words),
    ]
    return {"figures": [(words(f"report.{name}"), value) for name, value in figures], "cards": cards}


def _performance(performance: Performance | None, label: str, words: Messages) -> View | None:
    """How often the model is right: a sentence, and tables of the classes."""
    if performance is None:
        return None
    return {
        "sentence": performance.say(words),
        "classes": performance.class_table(words, label),
        "confusion": performance.confusion_table(words),
    }


def _counted(name: str, counts: Counter[str], n: int, words: Messages, *, others: bool = True) -> View:
    """The most frequent with their share of the inputs."""
    rows, n_more, rest = most_common(counts, MAX_ROWS)
    if n_more and others:
        rows = [*rows, (words("report.more", k=f"{n_more:,}"), rest)]
    more = words("report.and_more", k=f"{n_more:,}") if n_more and not others else ""
    return {"title": words(f"report.{name}"), "rows": _bars(rows, n, words), "n_more": more}


def _bars(rows: Sequence[tuple[str, int]], n: int, words: Messages) -> list[View]:
    return [_bar(name, count / n, f"{count:,} ({words.percent(count / n)})") for name, count in rows]


def _bar(name: Any, share: float, number: str, kind: str = "rest", best: bool = False) -> View:
    width = f"{100 * max(0.0, min(share, 1.0)):.4g}"
    return {"name": name, "width": width, "number": number, "kind": kind, "best": best}


def _row(row: Row, number: int, explained: bool, words: Messages) -> View:
    correct = None if row.truth is None else same_class(row.prediction, row.truth)
    level = next(k for k, (low, _) in enumerate(CONFIDENCES) if row.confidence >= low)
    return {
        "number": number, "name": row.name, "prediction": row.prediction, "p": words.percent(row.confidence),
        "length": row.length, "correct": correct, "level": level, "explained": explained, "truth": row.truth,
    }  # fmt: skip


def _filters(index: Sequence[Row], words: Messages) -> View:
    """Classes and confidences that the index can be narrowed to."""
    p = [words.percent(low) for low, _ in CONFIDENCES]
    levels = [
        words("report.at_least", p=p[0]),
        words("report.from_to", low=p[1], high=p[0]),
        words("report.below", p=p[1]),
    ]
    return {"classes": [(c, c) for c in sorted({row.prediction for row in index})], "levels": list(enumerate(levels))}


# ---- one explanation ------------------------------------------------------------------------------------------------


def _article(
    shown: Shown, number: int, words: Messages, queries: QuerySet | None, max_steps: int = MAX_STEPS
) -> View:  # fmt: skip
    e, truth = shown.explanation, shown.truth
    steps, n = e.shown_steps(max_steps), len(e)
    known = [replace(step, known=step.answer is None).say(words) for step in e.known]
    notes = [note for note in e.say_notes(words, codes=False) if note != e.say_warning(words)]
    if len(steps) < n:
        notes.append(words("report.some_steps", shown=len(steps), all=n))
    pixels = None if shown.image is None or not drawable(e) else _bytes(e.colours(shown.image), e.channels)
    return {
        "number": number, "name": shown.name, "prediction": e.say_outcome(words), "p": e.say_probability(words),
        "truth": truth, "warning": e.say_warning(words), "summary": case.summary(e, queries, words),
        "correct": None if truth is None else same_class(e.prediction, truth), "notes": notes, "why_not": (),
        "known": known, "pictures": _pictures(e, pixels, n, words) if n else [],
        "prior": _posterior(e, np.asarray(e.prior), truth, words), "asked": e.say_length(words),
        "steps": [_step(e, k, pixels, truth, words) for k in steps],
    }  # fmt: skip


def _step(e: Explanation, k: int, pixels: Any, truth: Any, words: Messages) -> View:
    step = e.steps[k]
    bits = "" if np.isnan(step.gain) else words.number(f"{max(step.gain, 0.0) / np.log(2):.2f}")
    return {
        "number": k + 1, "sentence": words.question(step), "bits": bits,
        "answer": None if drawable(e) and step.answer is not None else words.answer(step, step.said),
        "pictures": _pictures(e, pixels, k + 1, words),
        "posterior": _posterior(e, np.asarray(step.posterior), truth, words),
    }  # fmt: skip


def _posterior(e: Explanation, posterior: Any, truth: Any, words: Messages) -> list[View]:
    """Bars of the same classes after every answer, so that they can be compared down the page."""
    classes = leading_classes(e, truth)
    winner = int(e.posteriors[-1].argmax())
    first, second = np.sort(posterior)[::-1][:2] if len(posterior) > 1 else (1.0, 0.0)
    best = int(posterior.argmax()) if first - second > 0.005 else -1  # nobody leads by what is not seen
    rows = []
    for c in classes:
        true = truth is not None and same_class(e.classes[c], truth)
        kind = "right" if true else "rest" if c != winner else "win" if truth is None else "wrong"
        rows.append(_bar(e.classes[c], float(posterior[c]), _often(float(posterior[c]), words), kind, c == best))
    if n_others := len(e.classes) - len(classes):
        rest = max(0.0, 1.0 - float(posterior[classes].sum()))
        rows.append(_bar(words("others", n=n_others), rest, _often(rest, words)))
    return rows


def _often(p: float, words: Messages) -> str:
    """A probability beside a bar; one that is not zero is never shown as 0 %."""
    return f"< {words.percent(0.01)}" if 0 < p < 0.005 else words.percent(p)


def leading_classes(e: Explanation, truth: Any = None, most: int = MAX_CLASSES) -> list[int]:
    """The classes that get a bar: those that were most probable in the end or at some step, and the true one."""
    p = e.posteriors
    weight = p[-1] + 0.5 * p[1:].max(axis=0, initial=0)
    weight[int(p[-1].argmax())] += 2
    weight += [2.0 * (truth is not None and same_class(name, truth)) for name in e.classes]
    few = most + 1 if len(e.classes) <= most + 1 else most  # one other class needs no "1 other"
    chosen = np.argsort(-weight, kind="stable")[:few]
    return [int(c) for c in chosen[np.argsort(-p[-1][chosen], kind="stable")]]


def _pictures(e: Explanation, pixels: Any, upto: int, words: Messages) -> list[View]:
    """The image with the first ``upto`` patches, the newest in a thick box; and all that these patches revealed."""
    if e.shape is None or not drawable(e):
        return []
    rows, columns = e.shape
    boxes = [{"kind": "asked", **box(e, step.variables)} for step in e.steps[:upto]]
    boxes[-1]["kind"] = "now"
    uri, n_seen = seen_png(e, upto)
    size, asked = {"rows": rows, "columns": columns}, words("questions", n=upto)
    seen_of = words("report.picture_seen", questions=asked, seen=n_seen, all=rows * columns)
    found = [{**size, "uri": uri, "label": seen_of, "boxes": boxes[-1:], "caption": words("report.seen")}]
    if pixels is not None:
        label = words("report.picture_asked", k=upto)
        caption = words("report.patches")
        found.insert(0, {**size, "uri": png(pixels), "label": label, "boxes": boxes, "caption": caption})
    return found


def drawable(e: Explanation) -> bool:
    """Whether there is a picture of what was seen."""
    return e.shape is not None and e.shape[0] * e.shape[1] <= MAX_PIXELS


def box(e: Explanation, variables: Sequence[int]) -> View:
    """The rectangle of pixels that some variables are about."""
    rows, columns = np.divmod(np.array(variables) // e.channels, (e.shape or (1, 1))[1])
    size = {"width": int(np.ptp(columns)) + 1, "height": int(np.ptp(rows)) + 1}
    return {"x": int(columns.min()), "y": int(rows.min()), **size}


def seen_png(e: Explanation, upto: int) -> tuple[str, int]:
    """What was seen of an image after ``upto`` questions as a data URI, and how many pixels that is."""
    seen = e.brightness(upto)
    shades = np.where(np.isnan(seen), UNSEEN, DARK + seen * (LIT - DARK)).round()
    return png(shades), int((~np.isnan(seen).all(axis=2)).sum())


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
