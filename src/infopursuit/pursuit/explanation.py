"""One input's questions and answers: the whole evidence of a prediction, as sentences, a picture and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from infopursuit.queries.patches import MAX_LEVELS, shade
from infopursuit.support.cards import NotebookCard
from infopursuit.support.checks import whole_number
from infopursuit.support.display import Brief, printable
from infopursuit.support.messages import Messages, load
from infopursuit.support.types import UNKNOWN, Answer, FloatArray

FORMAT = "infopursuit.pursuit.explanation/2"
FIRST_FORMAT = "infopursuit.pursuit.explanation/1"
RENAMED = {"stopped_because": "stop_reason", "atoms": "variables", "likely": "soft"}
"""Names of the first format."""

NOVELTY_LEVEL = 0.05
"""The p-value up to which an input is called novel."""


@dataclass(frozen=True, repr=False)
class ExplanationStep(Brief):
    """One question: its index, name and wording, the answer in cells and in words, its gain, the belief after it."""

    query: int
    name: str
    sentence: str
    answer: Answer
    said: str
    gain: float
    gain_error: float
    posterior: tuple[float, ...]
    variables: tuple[int, ...]
    worded: bool = False
    """Whether the sentence is custom wording, which then replaces the name."""
    soft: tuple[tuple[float, ...], ...] | None = None
    """Of a soft answer: the weights of the cells of each variable, see `SoftAnswer`."""
    cost: float | None = None
    """Its cost, None where no costs are given."""
    number: float | None = None
    """The number that was answered, None where the answer is a choice."""
    known: bool = False
    """Whether the answer was known beforehand, so that nobody was asked."""

    @property
    def phrase(self) -> str:
        """Question and answer as one phrase: the name and the answer, or the sentence where it is custom."""
        return self.say(load())

    def say(self, words: Messages) -> str:
        """`phrase` in a language."""
        asked, said = self.sentence if self.worded else words.name(self), words.answer(self, self.said)
        if self.known:
            phrase = asked if self.answer is None else f"{asked} {said}"
            return words("missing" if self.answer is None else "known", phrase=phrase)
        return f"{asked} {said}" if self.worded else words("reason.other", name=asked, value=said)


@dataclass(frozen=True)
class Explanation(NotebookCard):
    """Why an input was given its label: the questions asked, in order, and their answers. Nothing else was used.

    ``print(explanation)`` shows it as text; `picture` what was seen of an image.
    """

    classes: tuple[Any, ...]
    prior: tuple[float, ...]
    steps: tuple[ExplanationStep, ...]
    stop_reason: str
    settled_at: int
    exact_gains: bool
    shape: tuple[int, int] | None = None
    p_value: float | None = None
    """The novelty p-value, where the pursuit has a reference."""
    known: tuple[ExplanationStep, ...] = ()
    """What was known beforehand, in its order; the posterior of each is that after all of them, which is `prior`."""
    calibrated: bool = True
    """Whether posteriors were calibrated on held-out inputs, or are those of a model that somebody stated."""
    levels: int = 2
    """Of an image: how many values a pixel has; 2 are black and white."""
    channels: int = 1
    """Of an image: 3 for colours; a pixel then has three variables."""
    label_name: str = ""
    """What the classes are values of, such as "diagnosis"; empty where nobody said."""
    base_rates: tuple[float, ...] = ()
    """The share of each class of all cases: its frequency in training, where it was learnt, or its probability before
    anything was known; empty where that is `prior`."""

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<Explanation: {self.prediction}, {self.say_probability()}, after {count(len(self), 'question')}>"

    @property
    def posteriors(self) -> FloatArray:
        """(K + 1, C) what was believed before the first question, given what was known, and after each answer."""
        return np.array([self.prior, *(step.posterior for step in self.steps)])

    @property
    def shares(self) -> FloatArray:
        """(C,) the share of each class of all cases."""
        return np.array(self.base_rates or self.prior)

    @property
    def informed(self) -> bool:
        """Whether anything is known of the case: an answer was given, or has changed what is believed."""
        answered = any(step.answer is not None for step in (*self.known, *self.steps))
        return answered or not np.allclose(self.posteriors[-1], self.prior, rtol=1e-6, atol=0)

    @property
    def prediction(self) -> Any:
        """The most probable class after the last answer."""
        return self.classes[int(self.posteriors[-1].argmax())]

    @property
    def confidence(self) -> float:
        """Its posterior."""
        return float(self.posteriors[-1].max())

    @property
    def outcome(self) -> str:
        """The prediction with the name of the label, where that is known: "survived: yes"."""
        return self.say_outcome(load())

    def say_outcome(self, words: Messages) -> str:
        """`outcome` in a language."""
        label = {"label": self.label_name, "class": self.prediction}
        return words("case.label", **label) if self.label_name else str(self.prediction)

    def say_probability(self, words: Messages | None = None) -> str:
        """The confidence in words, English where nothing is given, marked where it is not calibrated."""
        words = words or load()
        p = words.percent(self.confidence)
        return p if self.calibrated else words("uncalibrated", p=p)

    def say_verdict(self, words: Messages) -> str:
        """The outcome and how probable it is: "survived: yes (88 %)"."""
        if self.calibrated:
            return f"{self.say_outcome(words)} ({words.percent(self.confidence)})"
        return words.texts["comma"].join((self.say_outcome(words), self.say_probability(words)))

    @property
    def cost(self) -> float | None:
        """The total cost, None where no costs are given."""
        costs = [step.cost for step in self.steps if step.cost is not None]
        return sum(costs) if costs else None

    @property
    def novel(self) -> bool:
        """Whether the answers are too improbable to trust the label (a p-value up to `NOVELTY_LEVEL`)."""
        return self.p_value is not None and self.p_value <= NOVELTY_LEVEL

    @property
    def warning(self) -> str:
        """The novelty warning, empty where the input is not novel."""
        return self.say_warning(load())

    def say_warning(self, words: Messages) -> str:
        """`warning` in a language."""
        return words("novelty", p=words.number(f"{self.p_value:.2g}")) if self.novel else ""

    def influence(self) -> FloatArray:
        """(K,) the influence of each answer on the posterior: KL(after || before), nats."""
        p = self.posteriors
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(p[1:] > 0, p[1:] * (np.log(p[1:]) - np.log(p[:-1])), 0.0)
        return np.asarray(np.maximum(terms.sum(axis=1), 0.0))

    def most_influential(self, n: int = 5) -> tuple[int, ...]:
        """The steps with the most influence on the posterior, in the order in which they were asked."""
        order = np.argsort(-self.influence(), kind="stable")[:n]
        return tuple(sorted(int(k) for k in order))

    def shown_steps(self, max_steps: int) -> list[int]:
        """Which steps to draw: all of a few; else the most influential and the last, so that it ends as the pursuit
        did."""
        whole_number(max_steps, "max_steps", 1)
        n = len(self)
        if n <= max_steps:
            return list(range(n))
        others = [k for k in np.argsort(-self.influence(), kind="stable").tolist() if k != n - 1]
        return [*sorted(others[: max_steps - 1]), n - 1]

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, max_steps: int = 12, width: int = 80, top: int = 3, language: str | None = None) -> str:
        """The explanation in words; of more than ``max_steps`` only the most influential are shown.

        What was believed after an answer stands beside it where that fits into ``width`` columns, else below it.
        ``language``: such as "de"; English where nothing is said.
        """
        words = load(language)
        told = {"class": self.say_outcome(words), "p": self.say_probability(words), "asked": self.say_length(words)}
        lines = [words("text.outcome", **told)]
        lines += [f"      {step.say(words)}" for step in self.known]
        lines += self.say_steps(words, max_steps=max_steps, width=width, top=top)
        return printable("\n".join([*lines, *self.say_notes(words)]))

    def say_length(self, words: Messages) -> str:
        """How many questions were asked, and what they cost."""
        asked = words("questions", n=len(self))
        return asked if self.cost is None else words("cost", n=len(self), questions=asked, cost=amount(self.cost))

    def say_steps(self, words: Messages, *, max_steps: int = 12, width: int = 80, top: int = 3) -> list[str]:
        """A line for each question, its answer and the posterior after it."""
        from rich.cells import cell_len

        shown = range(len(self)) if len(self) <= max_steps else self.most_influential(max_steps)
        lines = [] if len(self) <= max_steps else [words("text.influential", n=max_steps)]
        posteriors = self.posteriors
        said = {k: self.steps[k].say(words) for k in shown}
        believed = {k: self._top(posteriors[k + 1], top, words) for k in shown}
        room = width - 8 - max(map(cell_len, believed.values()), default=0)
        beside = max((cell_len(text) for text in said.values() if cell_len(text) <= room), default=0)
        for k in shown:
            wide = cell_len(said[k])
            between = "\n        " if wide > room else " " * (beside - wide + 2)
            lines.append(f"{k + 1:4d}. {said[k]}{between}{believed[k]}")
        return lines

    def say_notes(self, words: Messages, *, codes: bool = True) -> list[str]:
        """Why it stopped, whether it was novel and whether gains are exact. codes: with the name of the reason."""
        reason = f"{words.reason(self.stop_reason)} ({self.stop_reason})" if codes else words.reason(self.stop_reason)
        lines = [words("stop.open") if self.stop_reason == "open" else words("stop", reason=reason)]
        if warning := self.say_warning(words):
            lines.append(warning)
        if not self.exact_gains:
            error = max((step.gain_error for step in self.steps), default=0.0)
            shown = words.number(f"{error:.3f}")
            lines.append(words("text.estimated_error", error=shown) if error > 0 else words("text.estimated"))
        return lines

    def picture(self, upto: int | None = None) -> str:
        """What has been seen of the image after ``upto`` questions, two characters a pixel.

        Lit pixels are full blocks, dark ones light dots, those between them other marks (`patches.SHADES`), and what
        was never looked at is blank.
        """
        seen = self.brightness(upto).mean(axis=2)
        lines = ("".join("  " if np.isnan(mean) else 2 * shade(mean) for mean in row) for row in seen)
        return "\n".join(line.rstrip() for line in lines)

    def pixels(self, step: ExplanationStep) -> set[tuple[int, int]]:
        """(row, column) of the pixels that a step asked about."""
        if self.shape is None:
            raise ValueError("this explanation is not about an image; only patch queries are about pixels")
        return {divmod(variable // self.channels, self.shape[1]) for variable in step.variables}

    def brightness(self, upto: int | None = None) -> FloatArray:
        """(rows, columns, 3) of the image: red, green and blue from 0 to 1 where it was seen, NaN elsewhere."""
        seen = self.revealed(upto).astype(np.float64).reshape(*(self.shape or ()), self.channels)
        known = np.where(seen == UNKNOWN, np.nan, np.clip(seen / (self.levels - 1), 0, 1))
        return np.broadcast_to(known, (*known.shape[:2], 3))

    def colours(self, image: Any) -> FloatArray:
        """(rows, columns, 3) the image that was asked about, from 0 (0, or the smallest number) to 1 (the largest), NaN
        where it is missing; grey, colour, flat and with channels first will do."""
        if self.shape is None:
            raise ValueError("this explanation is not about an image; only patch queries are")
        array, wanted = np.asarray(image, dtype=np.float64), (*self.shape, self.channels)
        if array.size != np.prod(wanted):
            expected = wanted if self.channels > 1 else self.shape
            raise ValueError(f"image has shape {array.shape}, but the explanation is about images of shape {expected}")
        first = array.shape == (self.channels, *self.shape) != wanted
        pixels = np.moveaxis(array, 0, 2) if first else array.reshape(wanted)
        seen = pixels[~np.isnan(pixels)]
        low, high = seen.min(initial=0.0), seen.max(initial=0.0)
        return np.broadcast_to((pixels - low) / (high - low if high > low else 1.0), (*self.shape, 3))

    def revealed(self, upto: int | None = None) -> Any:
        """(rows, columns) of the image, (rows, columns, 3) in colour: 0 and 1 or the level where it was seen, -1
        elsewhere."""
        if self.shape is None:
            raise ValueError("this explanation is not about an image; only patch queries reveal parts of one")
        pixels = np.full(self.shape[0] * self.shape[1] * self.channels, UNKNOWN)
        for step in (*self.known, *self.steps[:upto]):
            if step.answer is not None:
                known = [(a, v) for a, v in zip(step.variables, step.answer, strict=True) if v != UNKNOWN]
                for variable, value in known:
                    pixels[variable] = value
        return pixels.reshape(self.shape if self.channels == 1 else (*self.shape, self.channels))

    def to_json(self) -> str:
        """Everything as JSON, readable by `from_json` and by anything else."""
        data = {"format": FORMAT, "shape": self.shape, **_given(self), "prediction": self.prediction}
        for name in ("known", "steps"):
            if name in data:  # JSON has no NaN, the gain of a question that the pursuit did not choose
                data[name] = [
                    _given(step) | {"gain": None if np.isnan(step.gain) else step.gain} for step in data[name]
                ]
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Explanation:
        """The explanation that `to_json` wrote."""
        try:
            data = json.loads(text, object_hook=lambda each: {RENAMED.get(name, name): each[name] for name in each})
        except (ValueError, RecursionError) as error:
            raise ValueError(f"this is not JSON: {str(error)[:200]}") from None
        if not isinstance(data, dict) or data.get("format") not in (FORMAT, FIRST_FORMAT):
            found = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"this is not an explanation in the format {FORMAT!r} (found {found!r:.80})")
        try:
            names = [each.name for each in fields(cls) if each.name in data]
            listed: dict[str, Any] = {name: _steps(data[name]) for name in ("steps", "known") if name in names}
            found = cls(**{name: _tuples(data[name]) for name in names if name not in listed}, **listed)
            found._check()
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ValueError(f"the explanation is damaged: {' '.join(str(error).split())[:300]}") from None
        return found

    def _check(self) -> None:
        """Refuse what no pursuit could have written: the JSON may come from anywhere."""
        posteriors, shape = self.posteriors, cast(Any, self.shape)
        if posteriors.dtype.kind not in "fiu" or posteriors.shape != (len(self) + 1, len(self.classes)):
            raise ValueError("prior and posteriors must have a number for each class")
        if not len(self.classes) or not ((posteriors >= 0) & (posteriors <= 1 + 1e-9)).all():
            raise ValueError("prior and posteriors must be numbers from 0 to 1")
        shares = self.shares
        if shares.dtype.kind not in "fiu" or shares.shape != (len(self.classes),):
            raise ValueError("base_rates must have a number for each class")
        if not ((shares >= 0) & (shares <= 1 + 1e-9)).all():
            raise ValueError("base_rates must be numbers from 0 to 1")
        for k, step in enumerate((*self.known, *self.steps)):
            if not all(isinstance(text, str) for text in cast(Any, (step.name, step.sentence, step.said))):
                raise ValueError(f"steps[{k}] must have name, sentence and said as texts")
            numbers: Any = (step.gain, step.gain_error, step.cost or 0.0, step.number or 0.0)
            if not all(type(number) in (int, float) and not np.isinf(number) for number in numbers):
                raise ValueError(f"steps[{k}] must have gain, gain_error, cost and number as numbers")
            if not all(type(cell) is int for cell in (step.query, *(step.answer or ()), *step.variables)):
                raise ValueError(f"steps[{k}] must have query, answer and variables as whole numbers")
            if not all(type(weight) in (int, float) for cells in step.soft or () for weight in cells):
                raise ValueError(f"steps[{k}] must have soft as lists of numbers, or null")
        if not isinstance(cast(Any, self.stop_reason), str):
            raise ValueError("stop_reason must be a text")
        if shape is not None and (len(shape) != 2 or not all(type(n) is int and n > 0 for n in shape)):
            raise ValueError("shape must be two whole numbers, or null")
        if type(self.levels) is not int or not 2 <= self.levels <= MAX_LEVELS or self.channels not in (1, 3):
            raise ValueError(f"levels must be 2 to {MAX_LEVELS}, and channels 1 or 3")
        if not isinstance(cast(Any, self.label_name), str):
            raise ValueError("label_name must be a text")
        if type(self.calibrated) is not bool:
            raise ValueError("calibrated must be true or false")
        if self.p_value is not None and not 0 <= self.p_value <= 1:
            raise ValueError("p_value must be a number from 0 to 1, or null")

    def _top(self, posterior: FloatArray, n: int, words: Messages) -> str:
        order = np.argsort(-posterior, kind="stable")[:n]
        shown = (f"{self.classes[c]} ({words.percent(posterior[c])})" for c in order if posterior[c] >= 0.005)
        return words.texts["comma"].join(shown)


def _given(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not as they are by default."""
    found = ((each, getattr(thing, each.name)) for each in fields(thing))
    return {each.name: value for each, value in found if value != each.default}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _steps(data: Any) -> tuple[ExplanationStep, ...]:
    steps = [{name: _tuples(value) for name, value in step.items()} for step in data]
    return tuple(
        ExplanationStep(**{**step, "gain": np.nan if step["gain"] is None else step["gain"]}) for step in steps
    )


def percent(p: float) -> str:
    """A probability as a reader wants it: one that is short of one is never called 100 %.

    >>> percent(0.5), percent(0.9999), percent(1.0)
    ('50 %', '99.9 %', '100 %')
    """
    return load().percent(p)


def short(name: Any, n: int) -> str:
    """A name of at most n characters.

    >>> short("Nelson's Sharp-tailed Sparrow", 12)
    "Nelson's Sh…"
    """
    text = str(name)
    return text if len(text) <= n else f"{text[: n - 1]}…"


def often(p: float) -> str:
    """A share; one that is not zero is never shown as 0 %."""
    return "< 1 %" if 0 < p < 0.005 else percent(p)


def amount(cost: float) -> str:
    """A cost as people write it.

    >>> amount(12.0), amount(12.5), amount(0.125)
    ('12', '12.50', '0.125')
    """
    if cost == int(cost):
        return f"{cost:.0f}"
    return f"{cost:.2f}" if abs(cost) >= 1 else f"{cost:.3g}"


def count(n: int, noun: str, several: str | None = None) -> str:
    """So many of something: ``count(1, "question")`` is "1 question"."""
    return f"{n:,} {noun if n == 1 else several or f'{noun}s'}"
