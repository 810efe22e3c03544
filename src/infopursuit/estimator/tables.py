"""`fit_table`: from a table with a column of labels to a classifier that asks about its other columns.

A row is one example of many, or it states *facts*: what the answers are for a label, or how often. A share of wrong
answers is then assumed, so that one wrong answer does not rule a label out.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from infopursuit import queries as query_builders
from infopursuit.estimator.classifier import MAX_ROWS, InformationPursuitClassifier
from infopursuit.estimator.labelled import LabelledTable, label_table
from infopursuit.models.table import TableModel
from infopursuit.pursuit.costs import Constraints, Costs
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, InformationGain, Rule
from infopursuit.queries.columns import Columns, Field, YesNoField, choose_field
from infopursuit.queries.frames import Column, as_shares, read_table
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.wording import Wording, read_rows, read_wording, reword
from infopursuit.strategies.baselines import on_columns
from infopursuit.support.checks import number
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

logger = logging.getLogger(__name__)

ANSWER_ERROR = 0.02
"""Default probability that an answer differs from what a table of facts states."""
MIN_GAIN = 1e-3
"""Nats. Below this expected information gain more questions only tire people."""


def default_stopping(epsilon: float = 0.01, min_gain: float = MIN_GAIN) -> Rule:
    """Confident enough, or no query with enough expected information gain."""
    return Confidence(epsilon) | InformationGain(min_gain)


def fit_table(
    table: Any,
    label: str,
    *,
    facts: bool | None = None,
    wording: Any = None,
    queries: Literal["columns", "yes-no"] = "columns",
    answer_error: float = ANSWER_ERROR,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    costs: Any = None,
    constraints: Constraints | None = None,
    max_rows: int | None = MAX_ROWS,
    **settings: Any,
) -> InformationPursuitClassifier:
    """A classifier that asks about the columns of a table; ``clf.feature_names_in_`` are those that it asks about.

    Parameters
    ----------
    table: a .csv, .tsv or .parquet file, or a pandas, polars or pyarrow table.
    label: the column of the classes.
    facts: True: a row states what is true of its label, with "sometimes" or a share such as 0.7 allowed in yes/no
        columns. False: a row is one example of many. None: facts where labels have fewer than three rows on average.
    wording: a .csv file, or {query or column: sentence}: how questions are asked, in any language.
    queries: "columns", or "yes-no", which asks about each category and each threshold of a number by itself.
    answer_error: facts only: the probability that an answer differs from what the table states.
    drop, keep: columns to leave out, and columns not to be left out although they look like names or row numbers.
    costs, constraints: `Costs` and `Constraints`; or ``costs`` is a .csv file of both (`read_costs`), which may also
        say what is asked together.
    max_rows: rows to learn from at the most, drawn at random where the table has more. A larger file is never in
        memory as a whole.
    settings: of `InformationPursuitClassifier`, such as ``stopping``; facts stop at 99 % confidence or where no gain
        exceeds 0.001 nats, if nothing is said, and are always a table.

    >>> import pandas as pd
    >>> import infopursuit as ip
    >>> animals = pd.DataFrame({"animal": ["cat", "owl", "carp"], "fur": [1, 0, 0], "flies": ["no", "yes", "no"]})
    >>> clf = ip.fit_table(animals, label="animal", wording={"fur": "Does it have fur?"})
    >>> print(clf.session().question)
    Does it have fur?
    """
    seed = settings.get("random_state") or 0
    labelled = label_table(table, label, facts=facts, drop=drop, keep=keep, max_rows=max_rows, seed=seed)
    logger.info("taken as a table of %s: %s", "facts" if labelled.facts else "examples", labelled.why)
    for name, why in labelled.left_out.items():
        logger.info("%s is not asked about: %s", name, why)
    in_file = isinstance(costs, (str, Path))
    given = read_costs(costs) if in_file else CostsFile(costs or Costs(), constraints or Constraints())
    settings |= {"costs": given.costs or None, "constraints": given.constraints or None, "max_rows": max_rows}
    if labelled.facts:
        stated = read_facts(labelled.X, labelled.y, len(labelled.classes), yes_no=queries == "yes-no")
        return fit_facts(labelled, stated, answer_error, wording, settings, given.groups)
    return fit_examples(labelled, queries, wording, settings, given.groups)


def fit_facts(
    table: LabelledTable, facts: Facts, answer_error: float, wording: Any, settings: Mapping[str, Any],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> InformationPursuitClassifier:  # fmt: skip
    """A classifier from facts: nothing is learnt, the table is the model."""
    asked = with_wording(facts.queries, wording, groups)
    given = {"stopping": default_stopping(), **settings, "strategy": facts.model(answer_error)}
    clf = InformationPursuitClassifier(asked, **given)
    with warnings.catch_warnings():  # a table of facts has as many labels as rows; numbers among them are names
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        return _named(clf.fit(table.X, table.labels), table)


def fit_examples(
    table: LabelledTable, queries: str, wording: Any, settings: Mapping[str, Any],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> InformationPursuitClassifier:  # fmt: skip
    """A classifier from examples, its model chosen on held-out rows."""
    builder = query_builders.columns(table.X, **how_asked(queries), keep=table.names)
    clf = InformationPursuitClassifier(with_wording(builder, wording, groups), **settings)
    return _named(clf.fit(table.X, table.labels, groups=table.groups), table)


def _named(clf: InformationPursuitClassifier, table: LabelledTable) -> InformationPursuitClassifier:
    """The classifier, which knows what its classes are values of."""
    clf.pursuit_ = replace(clf.pursuit_, label_name=table.name)
    return clf


def how_asked(queries: str) -> dict[str, Any]:
    """The options of ``queries.columns``: "yes-no" asks about thresholds and categories, one at a time."""
    yes_no = queries == "yes-no"
    return {"yes_no": yes_no, "numbers": "thresholds" if yes_no else "values"}


def with_wording(queries: QuerySet, wording: Any, groups: Mapping[str, Sequence[str]] | None = None) -> QuerySet:
    """The queries in the words of a file or a mapping; the members of a group become one query."""
    given: Mapping[str, Wording | str] = read_wording(wording) if isinstance(wording, (str, Path)) else wording or {}
    groups = groups or {}
    queries = reword(queries, {key: words for key, words in given.items() if key not in groups})
    if not groups:
        return queries
    together: QuerySet = query_builders.groups(queries, groups)
    return reword(together, {key: words for key, words in given.items() if key in groups})


# ---- facts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Facts:
    """What is stated about each label.

    queries: a question for each column. stated: (C, L) the share of each answer, NaN where the table has no cell.
    """

    queries: Columns
    stated: FloatArray

    def model(self, error: float = ANSWER_ERROR) -> TableModel:
        """Naive Bayes with these shares and a uniform prior.

        An answer differs from what is stated with probability ``error``, each other answer alike: P(v) = (1 - e) p_v +
        e (1 - p_v) / (V - 1). Where nothing is stated about a label, p is the mean over the other labels.
        """
        number(error, "answer_error", above=0, below=0.5)
        variables = self.queries.variables
        sizes = np.array(variables.sizes)[variables.slot_variable]  # (L,) values of the variable that a slot belongs to
        missing = np.isnan(self.stated)
        known = np.maximum((~missing).sum(axis=0), 1)
        shares = np.where(missing, np.where(missing, 0.0, self.stated).sum(axis=0) / known, self.stated)
        n_classes = len(shares)
        probs = np.zeros((n_classes, len(variables), max(variables.sizes)))
        probs[:, variables.slots >= 0] = (1 - error) * shares + error * (1 - shares) / (sizes - 1)
        return TableModel(np.full(n_classes, 1 / n_classes), None, probs, sizes=variables.sizes)

    def twins(self) -> list[list[int]]:
        """Groups of labels with the same facts, which no question can tell apart."""
        groups: dict[bytes, list[int]] = {}
        for c, row in enumerate(np.where(np.isnan(self.stated), -1.0, self.stated).round(9)):
            groups.setdefault(row.tobytes(), []).append(c)
        return [group for group in groups.values() if len(group) > 1]

    def draw(self, repeats: int, seed: int, error: float = 0.0) -> tuple[IntArray, IntArray]:
        """(C * repeats, A) answers sampled from the stated shares, and (C * repeats,) whose they are.

        What is not stated is unknown. A share ``error`` of the known answers is replaced by another one.
        """
        rng = np.random.default_rng(seed)
        variables, n_classes = self.queries.variables, len(self.stated)
        owners = np.repeat(np.arange(n_classes), repeats)
        values = np.empty((len(owners), len(variables)), dtype=np.int64)
        for a, size in enumerate(variables.sizes):
            shares = self.stated[owners, variables.offsets[a] : variables.offsets[a + 1]]  # (B, V)
            drawn = (rng.random((len(owners), 1)) >= np.cumsum(np.nan_to_num(shares), axis=1)[:, :-1]).sum(axis=1)
            other = (drawn + rng.integers(1, size, len(owners))) % size
            drawn = np.where(rng.random(len(owners)) < error, other, drawn)
            values[:, a] = np.where(np.isnan(shares[:, 0]), UNKNOWN, drawn)
        return values, owners


def read_facts(X: Any, y: IntArray, n_classes: int, *, bins: int = 10, yes_no: bool = False) -> Facts:
    """The facts of a table whose rows state what is true of labels y (B,).

    A cell of a yes/no column is yes, no, true, false, 0 or 1, "sometimes" (one half), or the share of yes, such as 0.7.
    Other columns hold categories or numbers. An empty cell is unknown. Of several rows for a label the mean is taken.
    """
    table = read_table(X)
    fields: list[Field] = []
    blocks = []
    for position in range(len(table.names)):
        column = table.column(position)
        yes = as_shares(column)
        if yes is not None:
            fields.append(YesNoField(column.name))
            shares = np.stack([1 - yes, yes], axis=1)
        else:
            _refuse_sometimes(column)
            how: dict[str, Any] = {"bins": bins, "max_categories": n_classes + 1}
            how |= how_asked("yes-no" if yes_no else "columns")
            found = choose_field(column, np.ones(table.n_rows), **how)
            if found is None:
                raise ValueError(f"column {column.name!r} has fewer than two different known values; leave it out")
            values = found.encode(column)
            fields.append(found)
            shares = np.where(values[:, None] == UNKNOWN, np.nan, values[:, None] == np.arange(found.size))
        blocks.append(_mean(shares, y, n_classes))
    return Facts(Columns(table.names, fields, named=table.named), np.concatenate(blocks, axis=1))


def _mean(shares: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """(C, V) the mean over the rows of each label that state anything, NaN where none does."""
    known = ~np.isnan(shares[:, 0])
    counts = np.bincount(y[known], minlength=n_classes)[:, None]
    total = np.stack([np.bincount(y[known], weights=w, minlength=n_classes) for w in shares[known].T], axis=1)
    return np.asarray(total / np.where(counts > 0, counts, np.nan))


def _refuse_sometimes(column: Column) -> None:
    """ "sometimes" beside words that are neither yes nor no would silently become a category."""
    labels = column.text()[1] if column.kind == "text" else ()
    odd = [label for label in labels if label.strip().lower() == "sometimes"]
    if odd:
        shown = ", ".join(repr(label) for label in labels if label not in odd)
        raise ValueError(
            f"column {column.name!r} has {odd[0]!r} beside {shown:.80}; a column with 'sometimes' holds yes, no, "
            f"sometimes, or a share from 0 to 1"
        )


# ---- how well it works ----------------------------------------------------------------------------------------------

MAX_INPUTS = 2_000
"""Simulated games that are tried at most."""
MOST_FREQUENT = "most frequent label"


@dataclass(frozen=True)
class Trial:
    """The outcome of a trial: accuracy with its standard error, number of questions, and cost where there are costs.

    exact: the share of inputs whose very label was predicted, not one with the same facts.
    """

    n_inputs: int
    accuracy: float
    standard_error: float
    exact: float
    length: float
    max_length: int
    cost: float | None = None

    @classmethod
    def of(cls, right: Any, length: Any, *, groups: Any = None, exact: Any = None, cost: Any = None) -> Trial:
        """groups: (B,) identical inputs count once for the standard error."""
        right = np.asarray(right, dtype=np.float64)
        groups = np.arange(len(right)) if groups is None else np.unique(groups, return_inverse=True)[1]
        off = np.bincount(groups, weights=right - right.mean())
        error = float(np.sqrt((off**2).sum()) / len(right))
        named = float(right.mean() if exact is None else np.mean(exact))
        paid = None if cost is None else float(np.mean(cost))
        return cls(len(right), float(right.mean()), error, named, float(np.mean(length)), int(np.max(length)), paid)


def try_examples(clf: InformationPursuitClassifier, table: LabelledTable, seed: int) -> dict[str, Trial]:
    """What `fit` measured on held-out rows, beside a tree and boosted trees on the same rows.

    Parameters
    ----------
    clf : InformationPursuitClassifier
        Fitted on the table, with an assessment.
    table : LabelledTable
    seed : int
        Of the baselines.
    """
    assessment = clf.assessment_
    assert assessment is not None
    trials = {
        "information pursuit": Trial(
            assessment.n_rows,
            assessment.accuracy,
            assessment.accuracy_error,
            assessment.accuracy,
            assessment.n_questions,
            assessment.max_questions,
            assessment.cost,
        )
    }

    outcomes: dict[str, list[tuple[Any, Any]]] = {}
    all_rows = np.arange(len(table.y))
    for rows in clf._assessed_rows:
        learn = np.setdiff1d(all_rows, rows)
        for name, outcome in on_columns(table.X, table.y, learn, rows, seed).items():
            outcomes.setdefault(name, []).append(outcome)
        most_frequent = np.bincount(table.y[learn]).argmax()
        outcomes.setdefault(MOST_FREQUENT, []).append((table.y[rows] == most_frequent, np.zeros(len(rows))))

    tested = np.concatenate(clf._assessed_rows)
    groups = None if table.groups is None else table.groups[tested]
    for name in sorted(outcomes, key=lambda baseline: baseline == MOST_FREQUENT):
        right = np.concatenate([part for part, _ in outcomes[name]])
        lengths = np.concatenate([part for _, part in outcomes[name]])
        trials[name] = Trial.of(right, lengths, groups=groups)
    return trials


def try_facts(pursuit: Pursuit[Any], facts: Facts, seed: int, *, error: float = 0.0) -> Trial:
    """Every label, answered as the table states it, several times where shares are drawn or answers are wrong.

    Labels with the same facts count as found when one of them is predicted.
    """
    n_classes = len(facts.stated)
    drawn = error > 0 or bool(((facts.stated > 0) & (facts.stated < 1)).any())
    values, owners = facts.draw(max(1, min(20, MAX_INPUTS // n_classes)) if drawn else 1, seed, error)
    if len(owners) > MAX_INPUTS:
        rows = np.random.default_rng(seed).choice(len(owners), MAX_INPUTS, replace=False)
        values, owners = values[rows], owners[rows]
    trace = pursuit.run_values(values)
    group = np.arange(n_classes)
    for twins in facts.twins():
        group[twins] = twins[0]
    found = trace.posterior.argmax(axis=1)
    cost = None if trace.query_costs is None else trace.cost
    return Trial.of(group[found] == group[owners], trace.length, groups=owners, exact=found == owners, cost=cost)


# ---- costs and constraints in a file --------------------------------------------------------------------------------

YES, NO = ("yes", "true", "x", "1"), ("", "no", "false", "0")


@dataclass(frozen=True)
class CostsFile:
    """What a file says: costs and constraints, and which queries are asked together."""

    costs: Costs = field(default_factory=Costs)
    constraints: Constraints = field(default_factory=Constraints)
    groups: dict[str, list[str]] = field(default_factory=dict)


def read_costs(path: Any) -> CostsFile:
    """The costs and constraints that a CSV file gives.

    Its head line is ``query,cost,requires,forbidden,group``, of which all but the first and one more may be left out. A
    query is also a column, for all queries about it, or a group. What is required reads ``sex = female``;
    ``ultrasound`` alone: once it was asked; ``a = yes & b = round | oval``: both, and of several answers one. A group's
    cost is that of its own line, else the sum of its members'.
    """
    rows = read_rows(path, "costs", {"cost": (), "requires": (), "forbidden": (), "group": ()})
    groups: dict[str, list[str]] = {}
    costs: dict[str, float] = {}
    requires: dict[str, list[Any]] = {}
    forbidden: list[str] = []
    priced = {key for key, (row, _) in rows.items() if row.get("cost")}
    for key, (row, place) in rows.items():
        where = f"{key!r:.80} in {place}"
        cost, group, never = row.get("cost", ""), row.get("group", ""), row.get("forbidden", "").lower()
        if never not in (*YES, *NO):
            raise ValueError(f"forbidden of {where} is {never!r:.80}; expected yes or no")
        needed = _requires(row.get("requires", ""), where)
        if group:
            groups.setdefault(group, []).append(key)
            if needed or never in YES:
                raise ValueError(
                    f"{where} is asked with its group {group!r} only; write what it requires, or that it is "
                    f"forbidden, into a line of the group"
                )
        if cost and not (group and group in priced):
            costs[group or key] = costs.get(group, 0.0) + _cost(cost, where)
        if needed:
            requires[key] = needed
        if never in YES:
            forbidden.append(key)
    return CostsFile(Costs(costs or None), Constraints(requires, forbidden), groups)


def _cost(text: str, where: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = float("nan")
    if not 0 <= cost < float("inf"):
        raise ValueError(f"the cost of {where} is {text!r:.80}; expected a number of 0 or more")
    return cost


def _requires(text: str, where: str) -> list[Any]:
    """``a = yes & b = round | oval`` as prerequisites."""
    found: list[Any] = []
    for part in filter(str.strip, text.split("&")):
        other, equals, choices = part.rpartition("=")
        several = [choice.strip() for choice in choices.split("|") if choice.strip()]
        if equals and not (other.strip() and several):
            raise ValueError(f"{where} requires {part.strip()!r:.80}; write it as: sex = female")
        found.append((other.strip(), several) if equals else part.strip())
    return found
