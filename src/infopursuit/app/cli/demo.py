"""``infopursuit demo``: a case of a table, then handwritten digits; classified by asking, and explained."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit import __version__, queries
from infopursuit.app import shipped
from infopursuit.app.cli.main import whole
from infopursuit.app.datasets import Dataset, digits
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.models import latent_classes
from infopursuit.presentation import case
from infopursuit.presentation.plots import image_trace, text_trace
from infopursuit.presentation.plots.style import need_matplotlib
from infopursuit.pursuit.explanation import Explanation, percent
from infopursuit.pursuit.stopping import Confidence, InformationGain
from infopursuit.pursuit.trace import Trace
from infopursuit.strategies.baselines import on_columns
from infopursuit.support import messages
from infopursuit.support.terminal import Terminal, table
from infopursuit.support.threads import single_threaded
from infopursuit.support.types import UNKNOWN, IntArray

EXAMPLES = ("infopursuit demo", "infopursuit demo --examples 10 --seed 3 --out pictures")
FOLDER = "infopursuit-demo"
N_ROWS, N_QUESTIONS = 120, 4
"""Of the table: rows that are classified, and questions of the one that is told."""
N_LATENTS = 16
"""Latent classes of each digit. A fixed number, since trying several would take most of the time."""
THRESHOLD = 8
"""A pixel above it counts as lit; pixels go from 0 to 16."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``demo``."""
    add = parser.add_argument
    add("--out", type=Path, default=Path(FOLDER), metavar="DIR", help=f"folder for pictures (default: {FOLDER})")
    add("--seed", type=whole, default=0, metavar="N", help="seed of the random generator (default: 0)")
    add("--examples", type=whole, default=5, metavar="N", help="how many test images to explain (default: 5)")


def run(args: argparse.Namespace) -> int:
    """The whole demonstration; returns the exit code."""
    terminal = Terminal()
    terminal.say(terminal.paint(f"infopursuit {__version__}: a classifier that explains itself by asking", "bold"), "")
    folder = _prepare(args.out, terminal) if args.examples else None
    with single_threaded():
        tell_case(terminal)
        terminal.head("Images")
        data = digits()
        rows, columns = data.x_train.shape[1:]
        terminal.tell(
            f"{len(data.x_train) + len(data.x_test):,} handwritten digits of {rows} x {columns} pixels, from "
            f"scikit-learn: {len(data.x_train):,} to learn from, {len(data.x_test)} to test on. A question is: what is "
            f"in this 3 x 3 patch? It asks for the patch with the highest expected information gain about the digit, "
            f"sees the answer, asks the next, and stops at a confidence of 99 % or when no patch has any gain left."
        )
        clf = learn(data, args.seed, terminal)
        trace = compare(clf, data, args.seed, terminal)
    chosen = choose_examples(trace, data.y_test, args.examples, args.seed)
    if len(chosen):
        terminal.head("Explanations")
        newest = "the newest patch is in colour" if terminal.colour else "dots are the dark pixels of the newest patch"
        terminal.tell(
            f"Some predictions, drawn at random: correct ones first, and the last one a mistake if there is any. █ is "
            f"a lit pixel, ░ was not looked at, and {newest}. Below each picture is the posterior after the answer."
        )
    for n, i in enumerate(chosen.tolist(), start=1):
        pixels = clf.queries_.observe(data.x_test[i])[0]
        tell_example(trace[i], pixels, int(data.y_test[i]), f"{n} of {len(chosen)}", terminal)
    if folder is not None:
        write_pictures(folder, data, trace, chosen, terminal)
    terminal.head("Continue")
    terminal.say(
        "  import infopursuit as ip",
        "  clf = ip.InformationPursuitClassifier().fit(X, y)  # images, texts or tables",
        "  print(clf.explain(X_new)[0])                       # why, in words",
        "",
        "  infopursuit demo --seed 1                          # other digits",
        "  infopursuit --help                                 # all commands",
    )
    return 0


def tell_case(terminal: Terminal) -> None:
    """A row of a table that the model has not seen: questions, answers, the outcome, and why it is not another."""
    clf = shipped.load("tumours")
    _, _, rows, labels = shipped.tumours()
    pursuit = clf.pursuit_
    trace = pursuit.run(rows[:N_ROWS], progress=False)
    right = trace.predictions == labels[:N_ROWS]
    chosen = int(np.flatnonzero(right & (trace.length == N_QUESTIONS))[0])
    explanation = trace[chosen]
    terminal.head(case.title(pursuit).capitalize())
    terminal.tell(
        f"A row of a table: {len(pursuit.queries)} measurements of a tumour, from scikit-learn; not medical advice. It "
        f"asks for the number with the highest expected information gain, and for no more than it needs."
    )
    terminal.say(*explanation.say_steps(messages.load(), width=terminal.width), "")
    session = pursuit.session(trace.history(chosen))
    other = next(label for label in pursuit.classes if label != explanation.prediction)
    terminal.tell(case.summary(explanation, pursuit.queries), style="good")
    terminal.tell(" ".join([f"Why not {other}?", *case.say_why_not(case.why_not(session, other), session)]))
    terminal.tell(
        f"So it was with row {chosen + 1} of those held out; of the first {len(right)} {100 * right.mean():.0f} % are "
        f"correct, after {trace.length.mean():.1f} questions on average. infopursuit serve tumours asks you."
    )


def learn(data: Dataset, seed: int, terminal: Terminal) -> InformationPursuitClassifier:
    """Fit the classifier."""
    terminal.head("Learning")
    start = time.monotonic()
    clf = InformationPursuitClassifier(
        queries=queries.patches(data.x_train.shape[1:], size=3, threshold=THRESHOLD),
        strategy=latent_classes(N_LATENTS),
        # when all pixels have been seen, more questions have no gain
        stopping=Confidence(0.01) | InformationGain(1e-3),
        random_state=seed,
    ).fit(data.x_train, data.y_train)
    spent = time.monotonic() - start
    terminal.tell(
        f"A pixel counts as lit above {THRESHOLD} of 16. Fitted {N_LATENTS} latent classes for each digit, in "
        f"{spent:.0f} s."
    )
    return clf


def compare(clf: InformationPursuitClassifier, data: Dataset, seed: int, terminal: Terminal) -> Trace:
    """Test it beside a decision tree and a black box that see the same pixels; returns its trace."""
    terminal.head(f"Accuracy on {len(data.x_test)} test digits")
    start = time.monotonic()
    trace = clf.explain(data.x_test)
    right = trace.predictions == data.y_test
    x_train, x_test = clf.queries_.observe(data.x_train), clf.queries_.observe(data.x_test)
    y, at = np.concatenate([data.y_train, data.y_test]), np.arange(len(x_train) + len(x_test))
    others = on_columns(np.concatenate([x_train, x_test]), y, at[: len(x_train)], at[len(x_train) :], seed)
    (tree, splits), (machine, _) = others.values()
    seen = float(np.mean([(explanation.revealed() != UNKNOWN).mean() for explanation in trace]))
    rows = [["", "accuracy", "questions", "pixels seen"]]
    for name, correct, asked, share in (
        ("Information Pursuit, 3 x 3 patches", right, f"{trace.length.mean():.1f}", seen),
        ("Decision tree, single pixels", tree, f"{splits.mean():.1f}", splits.mean() / x_test.shape[1]),
        ("Boosted trees", machine, "all at once", 1.0),
    ):
        error = correct.std() / len(correct) ** 0.5
        accuracy = f"{100 * correct.mean():.1f} ± {100 * error:.1f} %"
        rows.append([name, accuracy, asked, f"{100 * share:.0f} %"])
    terminal.say(*table(rows))
    text = "All three see the same black and white pixels; the tree was pruned by cross-validation on training images."
    confident = trace.stop_reason == "confidence"
    if confident.any():
        text += (
            f" Information Pursuit stopped at a confidence of 99 % in {100 * confident.mean():.0f} % of the cases, and "
            f"{100 * right[confident].mean():.1f} % of those are correct."
        )
    terminal.tell(f"{text} Tested in {time.monotonic() - start:.0f} s.")
    return trace


def choose_examples(trace: Trace, truth: Any, n: int, seed: int) -> IntArray:
    """Indices of n test images: correct ones of as many different digits as possible, the last a mistake, if any."""
    order = np.random.default_rng(seed).permutation(len(truth))
    right = trace.predictions[order] == truth[order]
    good, bad = order[right], order[~right]
    mistakes = bad[:1] if n > 1 else bad[:0]
    # the first of every digit before the second of any
    earlier = np.array([(truth[good[:place]] == truth[i]).sum() for place, i in enumerate(good)], dtype=np.int64)
    good = good[np.argsort(earlier, kind="stable")]
    return np.concatenate([good[: n - len(mistakes)], mistakes]).astype(np.int64)


def tell_example(explanation: Explanation, pixels: Any, truth: int, place: str, terminal: Terminal) -> None:
    """One test image: the revealed pixels and the posterior, step by step, and the same in words."""
    right = explanation.prediction == truth
    terminal.head(f"Example {place}: {_a(truth)}" + ("" if right else ", and a mistake"))
    terminal.say(text_trace(explanation, image=pixels, width=terminal.width, colour=terminal.colour), "")
    terminal.say(explanation.to_text(max_steps=7, width=terminal.width))
    if right:
        return terminal.tell("Correct.", style="good")
    belief = explanation.posteriors[:, explanation.classes.index(truth)]
    left = percent(belief[-1]) if belief[-1] >= 0.01 else "less than 1 %"
    text = f"Wrong: it is {_a(truth)}, which has {left} in the end"
    best = int(belief.argmax())
    if percent(belief[best]) != percent(belief[-1]):
        when = "before the first question" if best == 0 else f"after question {best}"
        text += f", but had {percent(belief[best])} {when}"
    return terminal.tell(f"{text}.", style="bad")


def write_pictures(folder: Path, data: Dataset, trace: Trace, chosen: IntArray, terminal: Terminal) -> None:
    """The paper's figure of every example as PNG, and a list of them."""
    lines = []
    for n, i in enumerate(chosen.tolist(), start=1):
        truth, prediction = int(data.y_test[i]), int(trace.predictions[i])
        name = f"example-{n}.png"
        image_trace(data.x_test[i], trace[i], truth=truth).savefig(folder / name)
        count = f"{trace.length[i]} question{'' if trace.length[i] == 1 else 's'}"
        lines.append(f"{name}: {_a(truth)}, predicted as {_a(prediction)} after {count}")
    (folder / "index.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    terminal.head("Pictures")
    terminal.say(f"The same as figures, one for each example: {folder.resolve()}", *(f"  {line}" for line in lines))


def _prepare(folder: Path, terminal: Terminal) -> Path | None:
    """The folder for pictures, made before the work begins; None where pictures cannot be drawn."""
    try:
        need_matplotlib()
    except ImportError as error:
        terminal.tell(f"No pictures will be written: {error}.")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _a(digit: int) -> str:
    return f"an {digit}" if digit == 8 else f"a {digit}"
