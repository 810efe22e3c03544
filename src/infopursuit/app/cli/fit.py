"""``infopursuit fit``: from a table to a saved classifier, with a page in the terminal that says what came out."""

from __future__ import annotations

import argparse
import shlex
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from infopursuit.app.cli.main import amount, positive, share, whole
from infopursuit.estimator import tables as tabular
from infopursuit.estimator.assessment import ENOUGH_ROWS
from infopursuit.estimator.classifier import MAX_ROWS, InformationPursuitClassifier
from infopursuit.estimator.labelled import LabelledTable, label_table
from infopursuit.evaluation.inspection import strategy_tree
from infopursuit.models.learning import Empirical, LatentClasses
from infopursuit.pursuit.costs import bind as bind_costs
from infopursuit.pursuit.costs import describe
from infopursuit.pursuit.explanation import count
from infopursuit.pursuit.stopping import MaxCost, MaxQueries
from infopursuit.queries.columns import columns
from infopursuit.queries.wording import read_wording
from infopursuit.strategies.hybrid.belief import PredictorBelief
from infopursuit.support.terminal import Terminal, table

EXAMPLES = (
    "infopursuit fit animals.csv --label animal --out animals",
    "infopursuit fit patients.parquet --label disease --out triage --wording de.csv",
    "infopursuit fit patients.csv --label disease --out triage --costs costs.csv \\",
    "    --max-cost 50",
)
MAX_CLASSES_TOLD = 8
"""Classes up to which recall, precision and the confusion matrix are printed."""
WRONG = 0.05
"""The share of wrong answers in the second trial of a table of facts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``fit``."""
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE", help=".csv, .tsv or .parquet file, or a folder of Parquet files")
    add("--label", required=True, metavar="COLUMN", help="the column of the classes")
    add("--out", required=True, type=Path, metavar="DIR", help="folder for the model")
    add("--facts", action=argparse.BooleanOptionalAction, help="a row states what is true of its label (else: is one "
        "example); if not given, facts where labels have fewer than three rows on average")  # fmt: skip
    add("--wording", type=Path, metavar="FILE", help=".csv with a sentence for each question")
    add("--costs", type=Path, metavar="FILE", help=".csv: costs and prerequisites of queries, groups "
        "that are asked together, queries that are never asked")  # fmt: skip
    add("--queries", choices=("columns", "yes-no"), default="columns", help="yes-no: each category by itself")
    add("--strategy", choices=("auto", "hybrid", "table", "empirical", "amortized"), default="auto",
        help="what is learnt from examples; auto compares them on held-out rows")  # fmt: skip
    add("--drop", nargs="+", default=[], metavar="COLUMN", help="columns that are not asked about")
    add("--keep", nargs="+", default=[], metavar="COLUMN", help="ask about these although they look like names")
    add("--group", metavar="COLUMN", help="rows with the same cell belong together, such as those of one patient, and "
        "are held out together; the column is not asked about")  # fmt: skip
    add("--epsilon", type=share, metavar="E", help="stop at a confidence of 1 - E (examples: chosen on held-out rows, "
        "as is --min-gain; facts: 0.01)")  # fmt: skip
    add("--min-gain", type=share, metavar="NATS", help="stop when no query has a higher expected information gain "
        f"(facts: {tabular.MIN_GAIN})")  # fmt: skip
    add("--max-queries", type=whole, metavar="N", help="stop after N questions (examples: 12)")
    add("--max-cost", type=amount, metavar="COST", help="never spend more on the questions about one input")
    add("--patience", type=whole, default=0, metavar="T", help="a stop must hold T more times in a row (0)")
    add("--answer-error", type=share, default=tabular.ANSWER_ERROR, metavar="E", help="facts: probability that an "
        f"answer is not as stated ({tabular.ANSWER_ERROR})")  # fmt: skip
    add("--assess", action=argparse.BooleanOptionalAction, default=True, help="examples: measure accuracy on rows that "
        "are held out while everything is fitted again; --no-assess is several times faster")  # fmt: skip
    add("--max-rows", type=positive, default=MAX_ROWS, metavar="N", help="rows to learn from at the most, drawn at "
        f"random where the table has more ({MAX_ROWS:,})")  # fmt: skip
    add("--seed", type=whole, default=0, metavar="N", help="seed of the random generator (0)")


def run(args: argparse.Namespace) -> int:
    """Read, fit, save, tell."""
    terminal, start = Terminal(), time.monotonic()
    if args.out.exists() and not args.out.is_dir():
        raise ValueError(f"--out {args.out} is a file; give a folder")
    if not args.table.exists():
        raise FileNotFoundError(f"{args.table} is not there; give a .csv, .tsv or .parquet file")
    wording = None if args.wording is None else read_wording(args.wording)
    given = tabular.CostsFile() if args.costs is None else tabular.read_costs(args.costs)
    rows = label_table(args.table, args.label, facts=args.facts, drop=args.drop, keep=args.keep, group=args.group,
                       max_rows=args.max_rows, seed=args.seed)  # fmt: skip
    _introduce(args, rows, terminal)
    settings = {**_stopping(args, rows.facts), "patience": args.patience, "random_state": args.seed, "max_rows": None}
    settings |= {"costs": given.costs or None, "constraints": given.constraints or None}
    settings |= {"strategy": args.strategy, "assess": args.assess}
    if rows.facts:
        if args.strategy == "empirical":
            raise ValueError("--strategy empirical needs examples; a table of facts is its own model. Add --no-facts")
        facts = tabular.read_facts(rows.X, rows.y, len(rows.classes), yes_no=args.queries == "yes-no")
        clf = tabular.fit_facts(rows, facts, args.answer_error, wording, settings, given.groups)
        _tell_facts(args, clf, facts, terminal)
    else:
        if given.costs or given.constraints or given.groups:
            # They name queries: what cannot be is said before anything long begins.
            asked = columns(rows.X, **tabular.how_asked(args.queries), keep=rows.names)
            asked = tabular.with_wording(asked, wording, given.groups)
            bind_costs(given.costs, given.constraints, asked)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            clf = tabular.fit_examples(rows, args.queries, wording, settings, given.groups)
        _tell_accuracy(args, rows, clf, terminal)
        terminal.head("Model")
        terminal.tell(f"Fitted on {_fitted_rows(clf, rows)} rows: {describe_model(clf)}.")
        _tell_choice(clf, terminal)
        for text in dict.fromkeys(str(item.message) for item in caught if issubclass(item.category, UserWarning)):
            terminal.tell(f"Note: {text}.", style="bad")
    for sentence in describe(*clf.pursuit_.bound_costs):
        terminal.tell(sentence)
    _first_questions(clf, terminal)
    clf.save(args.out)
    _next_commands(args, clf, time.monotonic() - start, terminal)
    return 0


def describe_model(clf: InformationPursuitClassifier) -> str:
    """Which model was chosen, in words."""
    belief = clf.pursuit_.belief
    if isinstance(belief, PredictorBelief):
        return f"hybrid: {belief.predictor.n_members} masked networks, which see numbers as numbers"
    if belief.capabilities.utilities is not None:
        return f"amortized: {belief.describe()}"
    chosen = clf.selection_[0].learner if clf.selection_ else None
    if isinstance(chosen, Empirical) or clf.model_.kind == "empirical":
        return "empirical: the rows themselves, smoothed; the folder will contain them"
    if isinstance(chosen, LatentClasses):
        return f"table with {chosen.n_latents} latent classes for each label"
    return "table of answer frequencies for each label (naive Bayes)"


def _tell_choice(clf: InformationPursuitClassifier, terminal: Terminal) -> None:
    """What was chosen on held-out rows, and why."""
    tuning = clf.tuning_
    if tuning is None:
        if isinstance(clf.stopping, str):
            terminal.tell("There are too few rows to calibrate its probabilities or to choose when it stops.")
        else:
            terminal.tell("Its stopping rule is the one that was given. Its probabilities are not calibrated.")
        return

    terminal.tell(
        "Probabilities were calibrated on held-out rows, and the stopping rule is the shortest that saves most of the "
        "log loss that answers can save and is about as accurate as the best:"
    )
    chosen = str(replace(tuning, assessment=None)).splitlines()
    for line in chosen[:-1]:  # the last one is about the figures that stand above
        terminal.tell(line, indent=2, hanging=2)


def _fitted_rows(clf: InformationPursuitClassifier, rows: LabelledTable) -> str:
    """How many rows the classifier was fitted on, in words."""
    n_rows = len(rows.y)
    assessment = clf.assessment_
    if assessment is not None and n_rows >= ENOUGH_ROWS:
        return f"{assessment.n_trained:,} of {n_rows:,}"
    return f"all {n_rows:,}"


def _stopping(args: argparse.Namespace, facts: bool) -> dict[str, Any]:
    """The rule, or that it is chosen on held-out rows."""
    if not facts and args.epsilon is None and args.min_gain is None and args.max_cost is None:
        return {"stopping": "auto", "max_questions": args.max_queries}
    epsilon, min_gain = 0.01 if args.epsilon is None else args.epsilon, args.min_gain
    rule = tabular.default_stopping(epsilon, tabular.MIN_GAIN if min_gain is None else min_gain)
    rule = rule if args.max_queries is None else rule | MaxQueries(args.max_queries)
    return {"stopping": rule if args.max_cost is None else rule | MaxCost(args.max_cost)}


def _introduce(args: argparse.Namespace, rows: LabelledTable, terminal: Terminal) -> None:
    n_rows, n_labels = len(rows.y), len(rows.classes)
    terminal.tell(
        f"{args.table}: {n_rows:,} rows, {n_labels:,} labels ({args.label}), {rows.X.shape[1]} columns to ask about."
    )
    if n_rows + rows.unlabelled == args.max_rows:
        terminal.tell(f"These are {args.max_rows:,} rows drawn at random from a larger table (--max-rows).")
    if rows.unlabelled:
        terminal.tell(f"Left out: {count(rows.unlabelled, 'row')} without a label.")
    for name, why in list(rows.left_out.items())[:8]:
        terminal.tell(f"Not asked about: {name} ({why}).", style="faint")
    if len(rows.left_out) > 8:
        terminal.tell(f"Nor about {len(rows.left_out) - 8} more columns like these.", style="faint")
    if rows.facts:
        terminal.tell(f"Taken as a table of facts ({rows.why}): a row states what is true of its label. --no-facts "
                      f"takes rows as examples.")  # fmt: skip
    else:
        terminal.tell(f"Taken as examples ({rows.why}). --facts takes a row as what is true of its label.")


def _tell_facts(
    args: argparse.Namespace, clf: InformationPursuitClassifier, facts: tabular.Facts, terminal: Terminal
) -> None:
    terminal.head("Accuracy")
    terminal.tell(
        f"{len(facts.queries):,} questions. An answer is taken to be another one than the table states in "
        f"{100 * args.answer_error:g} % of the cases, so that one wrong answer rules nothing out (--answer-error)."
    )
    as_stated = tabular.try_facts(clf.pursuit_, facts, args.seed)
    wrong = tabular.try_facts(clf.pursuit_, facts, args.seed, error=WRONG)
    trials = {"answered as the table says": as_stated, f"with {100 * WRONG:g} % wrong answers": wrong}
    terminal.say(*_trial_table(trials))
    twins = facts.twins()
    if twins:
        shown = "; ".join(" = ".join(str(clf.classes_[c]) for c in group[:3]) for group in twins[:3])
        terminal.tell(
            f"{sum(map(len, twins))} labels share all their facts with another, so that no question tells them apart: "
            f"{shown}{' ...' if len(twins) > 3 else ''}. Predicting one of those counts as correct; the very label is "
            f"predicted in {100 * as_stated.exact:.1f} %."
        )


def _tell_accuracy(
    args: argparse.Namespace, rows: LabelledTable, clf: InformationPursuitClassifier, terminal: Terminal
) -> None:
    """What was measured on rows on which nothing was chosen, beside baselines on the same rows."""
    assessment = clf.assessment_
    if assessment is None:
        if args.assess:
            terminal.tell("There are too few rows to hold any out, so that its accuracy was not measured.")
        return

    terminal.head("Accuracy")
    together = "" if args.group is None else f", whole groups by {args.group}"
    if assessment.n_parts > 1:
        terminal.tell(
            f"Each of {assessment.n_rows:,} rows was held out once{together}, while everything was chosen and fitted "
            f"again on {assessment.n_trained:,} others."
        )
    else:
        terminal.tell(
            f"{assessment.n_rows:,} rows were held out{together}, while everything was chosen and fitted on "
            f"{assessment.n_trained:,} others."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of baselines, such as a class that is missing in a part
        trials = tabular.try_examples(clf, rows, args.seed)
    terminal.say(*_trial_table(trials))
    terminal.tell("Of a decision tree, questions are the different columns on its path.", style="faint")

    figures = assessment.by_class
    auc = "" if figures.auc is None else f" Area under the ROC curve {figures.auc:.3f}."
    terminal.tell(
        f"Information pursuit is right in {100 * assessment.low:.1f} to {100 * assessment.high:.1f} % of new rows "
        f"(95 % interval). It claims {100 * assessment.confidence:.1f} % on average; expected calibration error "
        f"{100 * assessment.ece:.1f} %.{auc}"
    )
    if len(clf.classes_) <= MAX_CLASSES_TOLD:
        terminal.say(*figures.lines(clf.classes_, terminal.width))


def _trial_table(trials: dict[str, tabular.Trial]) -> list[str]:
    paid = any(trial.cost is not None for trial in trials.values())
    lines = [["", "accuracy", "questions", "at most", *(["cost"] if paid else [])]]
    for name, trial in trials.items():
        error = f" ± {100 * trial.standard_error:.1f}" if trial.standard_error else ""
        line = [name, f"{100 * trial.accuracy:.1f}{error} %", f"{trial.length:.1f}", f"{trial.max_length}"]
        lines.append([*line, "" if trial.cost is None else f"{trial.cost:.2f}"] if paid else line)
    return table(lines)


def _first_questions(clf: InformationPursuitClassifier, terminal: Terminal) -> None:
    terminal.head("First questions")
    if clf.pursuit_.belief.capabilities.answers:
        terminal.say(strategy_tree(clf, 1).to_text(width=terminal.width))
    else:
        terminal.say(f"  {clf.session().question or 'none: it stops at once'}")
    if not clf.queries_.worded:
        terminal.tell(
            "--wording FILE asks in your own words: a CSV file with the columns query and sentence.", style="faint"
        )


def _next_commands(
    args: argparse.Namespace, clf: InformationPursuitClassifier, spent: float, terminal: Terminal
) -> None:
    folder, data, label = (shlex.quote(str(x)) for x in (args.out, args.table, args.label))
    terminal.say("")
    stops = ""
    if clf.tuning_ is None or args.patience:  # else it was said with what was tuned
        patience = f" (patience {args.patience})" if args.patience else ""
        stops = f"It stops when {clf.pursuit_.stopping.describe()}{patience}. "
    terminal.tell(f"{stops}Written to {args.out} in {spent:.0f} s. Continue with:")
    terminal.say(
        f"  infopursuit ask {folder}",
        f"  infopursuit serve {folder}",
        f"  infopursuit explain {data} --model {folder} --label {label} \\",
        "      --html explained.html",
    )
    terminal.tell("It was fitted on these rows: they show its explanations, not its accuracy.", style="faint")
