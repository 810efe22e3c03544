"""The verdict of a summary: the predicted class, how probable it is, and a rare class beside it.

Where 99.5 % of all cases are "no", "almost certainly no (99.5 %)" says nothing about a case. What the answers have
shown is how the probability of "yes" compares with its share of all cases, and the verdict says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from infopursuit.pursuit.explanation import Explanation
from infopursuit.support.messages import Messages
from infopursuit.support.types import FloatArray

CERTAIN, PROBABLE, POSSIBLE = 0.95, 0.75, 0.5
"""Probabilities from which a verdict says "almost certainly", "probably" and "more likely than not"."""
RARE_ODDS = 9.0
"""A class is rare beside one that is so many times as frequent: of two classes, one with 10 % of all cases or less.
That the frequent one is predicted is then no news, and even a large change of the rare one does not alter it."""
NOTABLE_FACTOR = 2.0
"""A rare class that has become so many times as probable is named before others that have become less probable."""
SIMILAR_FACTOR = 1.25
"""A probability that differs from the share of all cases by a smaller factor is called about the same."""

__all__ = ["RareClass", "compared_class", "rare_class", "say_verdict"]


@dataclass(frozen=True)
class RareClass:
    """A class that is rare beside the predicted one.

    Parameters
    ----------
    index : int
    probability : float
        Its posterior.
    share : float
        Its share of all cases.
    """

    index: int
    probability: float
    share: float

    @property
    def trend(self) -> Literal["fewer", "same", "more"]:
        """Whether such cases are of the class less often than all cases, about as often, or more often."""
        factor = self.probability / self.share
        if factor > SIMILAR_FACTOR:
            return "more"
        return "fewer" if factor < 1 / SIMILAR_FACTOR else "same"


def rare_class(posterior: FloatArray, shares: FloatArray) -> RareClass | None:
    """The class that the predicted one is to be compared with, if any.

    Of several rare classes it is the one that has gained most, by p log(p / share), if it has become at least
    `NOTABLE_FACTOR` times as probable; else the one of which most was ruled out, by share log(share / p). The first is
    what must not be overlooked; both weigh a factor by how many cases it is about, so that a change from one case in a
    million to ten does not hide another.

    Where the predicted class is not itself `RARE_ODDS` times as frequent as all others together, there is
    something to say about it, and only a rare class that has gained notably is worth a remark.

    Parameters
    ----------
    posterior, shares : (C,) array of float
        The probabilities now, and the shares of all cases.

    Examples
    --------
    >>> rare_class(np.array([0.92, 0.08]), np.array([0.995, 0.005]))
    RareClass(index=1, probability=0.08, share=0.005)
    >>> rare_class(np.array([0.92, 0.08]), np.array([0.6, 0.4])) is None
    True
    """
    predicted = int(posterior.argmax())
    rare = (shares > 0) & (posterior > 0) & (shares[predicted] >= RARE_ODDS * shares)
    candidates = np.flatnonzero(rare)
    if not len(candidates):
        return None

    p = posterior[candidates]
    share = shares[candidates]
    gained = p * np.log(p / share)
    best = int(gained.argmax())
    if p[best] >= NOTABLE_FACTOR * share[best]:
        return RareClass(int(candidates[best]), float(p[best]), float(share[best]))
    if not _says_nothing(predicted, shares):
        return None

    best = int((share * np.log(share / p)).argmax())
    return RareClass(int(candidates[best]), float(p[best]), float(share[best]))


def compared_class(explanation: Explanation) -> int | None:
    """The class whose change the answers are to account for; None where the verdict reports no change."""
    posterior = explanation.posteriors[-1]
    predicted = int(posterior.argmax())
    if not explanation.informed:
        return None

    rare = rare_class(posterior, explanation.shares)
    if rare is None or rare.trend == "fewer":
        return predicted
    return rare.index if rare.trend == "more" else None


def say_verdict(explanation: Explanation, words: Messages) -> str:
    """The verdict as the first part of a sentence.

    Parameters
    ----------
    explanation : Explanation
    words : Messages
        The language.
    """
    verdict = _say_change(explanation, words) if explanation.informed else _say_start(explanation, words)
    return _capital(verdict, str(explanation.prediction))


def _say_start(explanation: Explanation, words: Messages) -> str:
    """The most frequent class, where nothing is known of a case."""
    ordered = np.sort(explanation.posteriors[-1])[::-1]
    if len(ordered) > 1 and np.isclose(ordered[0], ordered[1]):
        return words("summary.nothing")

    share = float(explanation.shares[int(explanation.posteriors[-1].argmax())])
    return words("summary.start", p=words.precise_percent(share), **{"class": explanation.prediction})


def _say_change(explanation: Explanation, words: Messages) -> str:
    """The predicted class, and how a rare one compares with its share of all cases."""
    posterior = explanation.posteriors[-1]
    shares = explanation.shares
    predicted = int(posterior.argmax())
    rare = rare_class(posterior, shares)
    if rare is None:
        return _say_level(explanation, words)

    told = {
        "class": explanation.prediction,
        "p": words.precise_percent(float(posterior[predicted])),
        "q": words.precise_percent(rare.probability),
        "share": words.precise_percent(rare.share),
        "other": explanation.classes[rare.index],
    }
    if rare.trend != "more":
        return words(f"summary.{rare.trend}", **told)
    verdict = words("summary.plain", **told) if _says_nothing(predicted, shares) else _say_level(explanation, words)
    return words("summary.more", verdict=verdict, **told)


def _say_level(explanation: Explanation, words: Messages) -> str:
    """The predicted class and how sure that is; of a rare class also its share of all cases."""
    p = explanation.confidence
    shares = explanation.shares
    share = float(shares[int(explanation.posteriors[-1].argmax())])
    shown = words.percent(p)
    if share > 0 and shares.max() >= RARE_ODDS * share:
        shown = words("summary.rare", p=shown, share=words.precise_percent(share))

    level = "undecided"
    for name, least in (("certain", CERTAIN), ("probable", PROBABLE), ("possible", POSSIBLE)):
        if p >= least and p > POSSIBLE:
            level = name
            break
    return words(f"summary.{level}", p=shown, **{"class": explanation.prediction})


def _says_nothing(predicted: int, shares: FloatArray) -> bool:
    """Whether a class is so frequent that its prediction is no news."""
    share = float(shares[predicted])
    return share >= RARE_ODDS * (1 - share)


def _capital(verdict: str, label: str) -> str:
    """A sentence that begins with a class; names with capitals of their own, such as pT1, stay as they are."""
    if label.islower() and verdict.startswith(label):
        return verdict[:1].upper() + verdict[1:]
    return verdict
