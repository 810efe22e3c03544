"""How often a fitted classifier is right, in a sentence and as tables: what the page and reports show of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infopursuit.estimator.assessment import MIN_GROUPS, Assessment
from infopursuit.presentation.verdict import RARE_ODDS
from infopursuit.support.messages import Messages, load

NARROW = 0.04
"""An interval of the accuracy that is narrower is written with one decimal."""
MAX_CLASSES = 50
"""Classes up to which each has a row."""
MAX_CONFUSED = 12
"""Classes up to which the confusion matrix is shown."""

__all__ = ["ClassRow", "Performance", "performance_of"]


@dataclass(frozen=True)
class ClassRow:
    """One class.

    Parameters
    ----------
    label : str
    rows : float, optional
        Held-out rows of the class; of weighted rows their weight. None where there are very many classes.
    recall, precision : float, optional
        None where no row was of the class, or none was taken for it.
    """

    label: str
    rows: float | None
    recall: float | None
    precision: float | None


@dataclass(frozen=True)
class Performance:
    """How often a classifier is right.

    Parameters
    ----------
    assessment : Assessment, optional
        The figures; None where nothing was measured.
    classes : tuple of str
    few_rows : bool, default False
        Whether nothing was measured because there were too few rows.
    """

    assessment: Assessment | None
    classes: tuple[str, ...]
    few_rows: bool = False

    @property
    def class_rows(self) -> tuple[ClassRow, ...]:
        """The classes in their order; none where nothing was measured, or there are more than `MAX_CLASSES`."""
        if self.assessment is None or len(self.classes) > MAX_CLASSES:
            return ()
        figures = self.assessment.by_class
        masses: list[float] | list[None] = [None] * len(self.classes)
        if figures.confusion:
            masses = [float(sum(row)) for row in figures.confusion]
        columns = (self.classes, masses, figures.recall, figures.precision)
        return tuple(ClassRow(*row) for row in zip(*columns, strict=True))

    @property
    def confusion(self) -> tuple[tuple[float, ...], ...]:
        """Rows of each true class by the class that was predicted; none where there are more than `MAX_CONFUSED`."""
        if self.assessment is None or len(self.classes) > MAX_CONFUSED:
            return ()
        return self.assessment.by_class.confusion

    def say(self, words: Messages | None = None) -> str:
        """The accuracy with its interval, the number of questions and the area under the ROC curve, as a sentence.

        Where one class is so frequent that an accuracy says little, also what that class alone would reach.
        """
        words = words or load()
        stop = words("full_stop")
        assessment = self.assessment
        if assessment is None:
            return words("performance.few_rows" if self.few_rows else "performance.unmeasured") + stop

        digits = 1 if assessment.high - assessment.low < NARROW else 0
        parts = [
            words(
                "performance.right",
                p=say_share(assessment.accuracy, words, digits),
                low=words.number(f"{100 * assessment.low:.{digits}f}"),
                high=say_share(assessment.high, words, digits),
                rows=words.whole(assessment.n_rows),
                questions=words.number(f"{assessment.n_questions:.1f}"),
            )
        ]
        frequent = self._most_frequent()
        if frequent is not None:
            label, share = frequent
            parts.append(words("performance.constant", p=say_share(share, words, digits), **{"class": label}))
        auc = assessment.by_class.auc
        if auc is not None:
            kind = "auc" if len(self.classes) == 2 else "auc_mean"
            parts.append(words(f"performance.{kind}", auc=words.number(f"{auc:.2f}")))
        return words.texts["semicolon"].join(parts) + stop

    def class_table(self, words: Messages, label: str = "") -> list[list[str]]:
        """`class_rows` below a header, in words. label: what the classes are values of."""
        header = [label or words("label"), *(words(f"performance.{name}") for name in ("rows", "recall", "precision"))]
        rows = [
            [row.label, say_weight(row.rows, words), *(say_optional(p, words) for p in (row.recall, row.precision))]
            for row in self.class_rows
        ]
        return [header, *rows] if rows else []

    def confusion_table(self, words: Messages) -> list[list[str]]:
        """`confusion` below a header, in words."""
        if not self.confusion:
            return []
        predicted = (words("performance.predicted", **{"class": name}) for name in self.classes)
        header = [words("performance.true_class"), *predicted]
        pairs = zip(self.classes, self.confusion, strict=True)
        return [header, *([name, *(say_weight(weight, words) for weight in row)] for name, row in pairs)]

    def _most_frequent(self) -> tuple[str, float] | None:
        """The most frequent class and its share of the rows, where an accuracy without it says little."""
        masses = [row.rows for row in self.class_rows if row.rows is not None]
        if not masses:
            return None
        largest = max(masses)
        if largest < RARE_ODDS * (sum(masses) - largest):
            return None
        return self.classes[masses.index(largest)], largest / sum(masses)


def performance_of(classifier: Any) -> Performance | None:
    """How often a classifier is right; None for one that was not learnt from the rows of a table.

    Parameters
    ----------
    classifier : object
        A fitted `InformationPursuitClassifier`, or anything else, such as a pursuit that was built by hand.
    """
    if not hasattr(classifier, "assessment_"):
        return None
    pursuit = classifier.pursuit_
    queries = pursuit.queries.ungrouped
    assessment: Assessment | None = classifier.assessment_
    if assessment is None and not (queries.tabular and pursuit.learnt):
        return None

    n_rows = (getattr(classifier, "provenance_", None) or {}).get("rows")
    few_rows = n_rows is not None and n_rows < MIN_GROUPS
    return Performance(assessment, tuple(str(label) for label in pursuit.classes.tolist()), few_rows)


def say_share(share: float, words: Messages, digits: int = 1) -> str:
    """A share of rows in percent."""
    return words("percent", p=words.number(f"{100 * share:.{digits}f}"))


def say_optional(share: float | None, words: Messages) -> str:
    """A share of rows, a dash where there were none."""
    return "–" if share is None else say_share(share, words)


def say_weight(weight: float | None, words: Messages) -> str:
    """A number of rows, or their weight where that is not whole."""
    if weight is None:
        return "–"
    return words.whole(round(weight)) if float(weight).is_integer() else words.number(f"{weight:.1f}")
