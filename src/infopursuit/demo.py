"""``infopursuit demo``: handwritten digits, told apart by asking about patches, and every answer explained."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infopursuit import __version__, queries
from infopursuit.datasets import Dataset, digits
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.explanation import Explanation, percent
from infopursuit.models import latent_classes
from infopursuit.plots import image_trace, text_trace
from infopursuit.stopping import Confidence, InformationGain
from infopursuit.terminal import Terminal, table
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, IntArray

SUMMARY = "see it ask, answer and explain, on handwritten digits"
EXAMPLES = ("infopursuit demo", "infopursuit demo --examples 10 --seed 3 --out pictures")
FOLDER = "infopursuit-demo"

WAYS = 16
"""Latent states of each digit. A fixed number, since trying several would take most of the time."""
THRESHOLDS = (4, 8, 12)
"""Candidates for the grey value above which a pixel counts as lit; pixels go from 0 to 16."""


@dataclass(frozen=True)
class Score:
    """How a classifier does on the test images: right: (B,) whether each answer is; questions and pixels: means."""

    name: str
    right: Any
    questions: float | None
    pixels: float

    def row(self) -> list[str]:
        """As a row of the table, the accuracy with its standard error."""
        p = float(np.mean(self.right))
        error = np.sqrt(p * (1 - p) / len(self.right))
        asked = "all at once" if self.questions is None else f"{self.questions:.1f}"
        return [self.name, f"{100 * p:.1f} ± {100 * error:.1f} %", asked, f"{100 * self.pixels:.0f} %"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("--out", type=Path, default=Path(FOLDER), metavar="DIR", help=f"where pictures go (default: {FOLDER})")
    add("--seed", type=_count, default=0, metavar="N", help="for all that is drawn (default: 0)")
    add("--examples", type=_count, default=5, metavar="N", help="how many test images to explain (default: 5)")


def run(args: argparse.Namespace) -> int:
    """The whole demonstration; returns the exit code."""
    terminal = Terminal()
    terminal.say(terminal.paint(f"infopursuit {__version__}: a classifier that explains itself by asking", "bold"), "")
    folder = _prepare(args.out, terminal) if args.examples else None
    with one_thread():
        data = digits()
        _introduce(data, terminal)
        clf = learn(data, args.seed, terminal)
        trace = compare(clf, data, args.seed, terminal)
    chosen = choose_examples(trace, data.y_test, args.examples, args.seed)
    if len(chosen):
        _how_to_read(terminal)
    for n, i in enumerate(chosen.tolist(), start=1):
        pixels = clf.queries_.observe(data.x_test[i])[0]
        tell_example(trace[i], pixels, int(data.y_test[i]), f"{n} of {len(chosen)}", terminal)
    if folder is not None:
        write_pictures(folder, data, trace, chosen, terminal)
    _go_on(terminal)
    return 0


def learn(data: Dataset, seed: int, terminal: Terminal) -> InformationPursuitClassifier:
    """Fit the classifier; what counts as a lit pixel is settled on training images that are held out."""
    from sklearn.model_selection import train_test_split

    terminal.head("Learning")
    start = time.monotonic()
    x_train, x_held, y_train, y_held = train_test_split(
        data.x_train, data.y_train, test_size=len(data.x_train) // 4, stratify=data.y_train, random_state=seed
    )
    terminal.tell(f"Which pixels count as lit? Tried on {len(x_held)} training images that are held out:")
    scores = []
    for threshold in THRESHOLDS:
        trace = build(data, threshold, seed).fit(x_train, y_train).explain(x_held)
        scores.append(float((trace.predictions == y_held).mean()))
        asked = f"{trace.length.mean():.1f} questions"
        terminal.say(f"  grey value above {threshold:2d} of 16:  {100 * scores[-1]:.1f} % right after {asked}")
    best = THRESHOLDS[int(np.argmax(scores))]
    clf = build(data, best, seed).fit(data.x_train, data.y_train)
    spent = time.monotonic() - start
    terminal.tell(f"The best is above {best}. Learnt {WAYS} ways of writing each digit, in {spent:.0f} s.")
    return clf


def build(data: Dataset, threshold: float, seed: int) -> InformationPursuitClassifier:
    """The classifier, not yet fitted."""
    return InformationPursuitClassifier(
        queries=queries.patches(data.x_train.shape[1:], size=3, threshold=threshold),
        model=latent_classes(WAYS),
        # when all pixels have been seen, more questions tell nothing
        stopping=Confidence(0.01) | InformationGain(1e-3),
        random_state=seed,
    )


def compare(clf: InformationPursuitClassifier, data: Dataset, seed: int, terminal: Terminal) -> Trace:
    """Test it beside a decision tree and a black box that see the same pixels; returns its trace."""
    terminal.head(f"On {len(data.x_test)} digits that it has not seen")
    start = time.monotonic()
    trace = clf.explain(data.x_test)
    right = trace.predictions == data.y_test
    scores = [Score("Information Pursuit, 3 x 3 patches", right, float(trace.length.mean()), pixels_seen(trace))]
    x_train, x_test = clf.queries_.observe(data.x_train), clf.queries_.observe(data.x_test)
    scores.append(score_tree(x_train, data.y_train, x_test, data.y_test, seed))
    scores.append(score_black_box(x_train, data.y_train, x_test, data.y_test))
    terminal.say(*table([["", "accuracy", "questions", "pixels seen"], *(score.row() for score in scores)]))
    text = (
        "All three see the same black and white pixels; settings of the other two were chosen by cross-validation on "
        "training images."
    )
    sure = trace.stopped_because == "confidence"
    if sure.any():
        text += (
            f" Information Pursuit stopped because it was 99 % sure in {100 * sure.mean():.0f} % of the cases, and was "
            f"right in {100 * right[sure].mean():.1f} % of those."
        )
    terminal.tell(f"{text} Tested in {time.monotonic() - start:.0f} s.")
    return trace


def pixels_seen(trace: Trace) -> float:
    """The mean share of the pixels that were looked at."""
    return float(np.mean([(explanation.revealed() != UNKNOWN).mean() for explanation in trace]))


def score_tree(x_train: Any, y_train: Any, x_test: Any, y_test: Any, seed: int) -> Score:
    """A decision tree (CART) over single pixels, as deep as cross-validation says."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    depths = {"max_depth": [4, 6, 8, 10, 12, 14, None]}
    tree = GridSearchCV(DecisionTreeClassifier(random_state=seed), depths).fit(x_train, y_train).best_estimator_
    # the nodes on the way to a leaf, the leaf not counted; a black and white pixel is never asked about twice
    asked = np.asarray(tree.decision_path(x_test).sum(axis=1)).ravel() - 1
    mean = float(asked.mean())
    return Score("Decision tree, single pixels", tree.predict(x_test) == y_test, mean, mean / x_test.shape[1])


def score_black_box(x_train: Any, y_train: Any, x_test: Any, y_test: Any) -> Score:
    """A support vector machine, its settings from cross-validation."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    settings = {"C": [1, 3, 10], "gamma": [0.02, 0.05, 0.1]}
    machine = GridSearchCV(SVC(), settings).fit(x_train, y_train)
    return Score("Support vector machine", machine.predict(x_test) == y_test, None, 1.0)


def choose_examples(trace: Trace, truth: Any, n: int, seed: int) -> IntArray:
    """Indices of n test images: right ones of as many different digits as possible, the last a mistake, if any."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(truth))
    right = trace.predictions[order] == truth[order]
    good, bad = order[right], order[~right]
    mistakes = bad[:1] if n > 1 else bad[:0]
    # the first of every digit before the second of any
    earlier = np.array([(truth[good[:place]] == truth[i]).sum() for place, i in enumerate(good)], dtype=np.int64)
    good = good[np.argsort(earlier, kind="stable")]
    return np.concatenate([good[: n - len(mistakes)], mistakes]).astype(np.int64)


def tell_example(explanation: Explanation, pixels: Any, truth: int, place: str, terminal: Terminal) -> None:
    """One test image in the terminal: what was seen, step by step, what was believed, and the same in words."""
    right = explanation.prediction == truth
    terminal.head(f"Example {place}: {_a(truth)}" + ("" if right else ", and a mistake"))
    terminal.say(text_trace(explanation, image=pixels, width=terminal.width, colour=terminal.colour), "")
    terminal.say(explanation.to_text(most=7, width=terminal.width))
    if right:
        terminal.tell("That is right.", style="good")
        return
    belief = explanation.posteriors[:, explanation.classes.index(truth)]
    left = percent(belief[-1]) if belief[-1] >= 0.01 else "less than 1 %"
    text = f"That is wrong: it is {_a(truth)}, which was given {left} in the end"
    best = int(belief.argmax())
    if percent(belief[best]) != percent(belief[-1]):
        when = "before the first question" if best == 0 else f"after question {best}"
        text += f", but {percent(belief[best])} {when}"
    terminal.tell(f"{text}.", style="bad")


def write_pictures(folder: Path, data: Dataset, trace: Trace, chosen: IntArray, terminal: Terminal) -> None:
    """The paper's figure of every example as PNG, and a list of them."""
    lines = []
    for n, i in enumerate(chosen.tolist(), start=1):
        truth, prediction = int(data.y_test[i]), int(trace.predictions[i])
        name = f"example-{n}.png"
        image_trace(data.x_test[i], trace[i], truth=truth).savefig(folder / name)
        count = f"{trace.length[i]} question{'' if trace.length[i] == 1 else 's'}"
        lines.append(f"{name}: {_a(truth)}, taken for {_a(prediction)} after {count}")
    (folder / "index.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    terminal.head("Pictures")
    terminal.say(f"The same as figures, one for each example: {folder.resolve()}", *(f"  {line}" for line in lines))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Small tables are slower on several threads, and far slower while others use the processor."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _prepare(folder: Path, terminal: Terminal) -> Path | None:
    """The folder for pictures, made before the work begins; None where pictures cannot be drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        terminal.say("matplotlib is not installed, so that no pictures will be written.")
        terminal.say("pip install infopursuit[plots] adds it.", "")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _introduce(data: Dataset, terminal: Terminal) -> None:
    rows, columns = data.x_train.shape[1:]
    terminal.tell(
        f"{len(data.x_train) + len(data.x_test):,} handwritten digits of {rows} x {columns} pixels, as scikit-learn "
        f"carries them: {len(data.x_train):,} to learn from, {len(data.x_test)} to test on. A question is: what is in "
        f"this 3 x 3 patch? It asks for the patch that tells most about the digit, sees the answer, asks the next, and "
        f"stops when it is 99 % sure or when no patch would tell it more."
    )


def _how_to_read(terminal: Terminal) -> None:
    terminal.head("Explanations")
    newest = "the newest patch is in colour" if terminal.colour else "dots are the dark pixels of the newest patch"
    terminal.tell(
        f"Some answers, drawn at random: right ones first, and the last one a mistake if it made any. █ is a lit "
        f"pixel, ░ was not looked at, and {newest}. Below each picture is what it believes after the answer."
    )


def _go_on(terminal: Terminal) -> None:
    terminal.head("Go on")
    terminal.say(
        "  import infopursuit as ip",
        "  clf = ip.InformationPursuitClassifier().fit(X, y)  # images, texts or tables",
        "  print(clf.explain(X_new)[0])                       # why, in words",
        "",
        "  infopursuit demo --seed 1                          # other digits",
        "  infopursuit --help                                 # all commands",
    )


def _a(digit: int) -> str:
    return f"an {digit}" if digit == 8 else f"a {digit}"


def _count(text: str) -> int:
    """A whole number, 0 or more."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 0 or more")
    return value
