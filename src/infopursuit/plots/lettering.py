"""Words in pictures: measured before they are drawn, folded, shortened, and never taken for formulas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from infopursuit.explanation import Explanation, percent
from infopursuit.plots.style import FAINT, HEAD, INK, NOTE, SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Word:
    """Something that is written: its text, colour, weight and size in points."""

    text: str
    colour: str = INK
    bold: bool = False
    size: float = SIZE

    @property
    def style(self) -> dict[str, Any]:
        """As matplotlib has it; a dollar in a name is a dollar."""
        weight = "bold" if self.bold else "normal"
        return {"color": self.colour, "fontsize": self.size, "fontweight": weight, "parse_math": False}

    @property
    def width(self) -> float:
        """Points; a little more than that, since letters are drawn on whole pixels."""
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        font = FontProperties(size=self.size, weight=self.style["fontweight"])
        return 1.03 * float(text_to_path.get_text_width_height_descent(self.text, font, ismath=False)[0])

    @property
    def height(self) -> float:
        """Inches of its lines, with the space between them."""
        return 1.4 * self.size / 72 * (self.text.count("\n") + 1)

    def folded(self, width: float) -> Word:
        """In lines of at most so many points, broken between words."""
        lines: list[str] = []
        for part in self.text.split():
            longer = f"{lines[-1]} {part}" if lines else part
            if lines and replace(self, text=longer).width <= width:
                lines[-1] = longer
            else:
                lines.append(part)
        return replace(self, text="\n".join(lines))


def short(name: Any, most: int) -> str:
    """A name of at most so many characters.

    >>> short("Nelson's Sharp-tailed Sparrow", 12)
    "Nelson's Sh…"
    """
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def count(n: int, noun: str) -> str:
    """So many of something: ``count(1, "question")`` is "1 question"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def find_class(classes: tuple[Any, ...], truth: Any) -> int | None:
    """The index of the true class."""
    if truth is None:
        return None
    for c, name in enumerate(classes):
        if name == truth or str(name) == str(truth):
            return c
    raise ValueError(f"truth={truth!r} is none of the classes {list(classes)[:10]}")


def outcome(explanation: Explanation, true_class: int | None) -> str:
    """What came out, and whether it is right."""
    asked = count(len(explanation), "question")
    text = f"{short(explanation.prediction, 36)} with {percent(explanation.confidence)} after {asked}"
    if true_class is None:
        return text
    truth = explanation.classes[true_class]
    return f"{text}, which is right" if truth == explanation.prediction else f"{text}, but it is {short(truth, 36)}"


def headline(explanation: Explanation, true_class: int | None, n_shown: int, note: str) -> tuple[Word, Word]:
    """What came out; and below it how to read the picture, and how many of the steps it shows."""
    if n_shown < len(explanation):
        note = f"{n_shown} of {len(explanation)} steps: the last and those that moved the belief most; {note}"
    unlike = f": unlike training, p = {explanation.p_value:.2g}" if explanation.unlike else ""
    return Word(outcome(explanation, true_class) + unlike, INK, True, HEAD), Word(note, FAINT, False, NOTE)


def write_above(figure: Figure, lines: tuple[Word, ...], left: float, top: float) -> None:
    """One below the other from the top left corner of a figure; both distances in inches."""
    wide, high = figure.get_size_inches()
    for word in lines:
        figure.text(left / wide, 1 - top / high, word.text, ha="left", va="top", **word.style)
        top += word.height


def write(axes: Axes, word: Word, at: tuple[float, float], shift: tuple[float, float], where: Any, **how: Any) -> None:
    """A word so many points away from a place; not cut off at the border of the axes."""
    axes.annotate(
        word.text,
        at,
        xytext=shift,
        xycoords=where,
        textcoords="offset points",
        annotation_clip=False,
        **how,
        **word.style,
    )
