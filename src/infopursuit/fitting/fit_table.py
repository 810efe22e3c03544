"""`fit_table`: a table with a column of labels to a classifier that asks about its other columns."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from infopursuit import queries as query_builders
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.fitting.facts import ANSWER_ERROR, Facts, read_facts
from infopursuit.fitting.labelled import LabelledTable, label_table
from infopursuit.fitting.terms_file import TermsFile, read_terms
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.wording import Wording, read_wording, reword
from infopursuit.stopping import Confidence, InformationGain, Rule

logger = logging.getLogger(__name__)

Asked = Literal["columns", "yes-no"]
LEAST_GAIN = 1e-3
"""Nats. When no question is expected to tell more, more of them only tire people."""


def default_stopping(epsilon: float = 0.01, least_gain: float = LEAST_GAIN) -> Rule:
    """Sure enough, or nothing left that would tell anything."""
    return Confidence(epsilon) | InformationGain(least_gain)


def fit_table(
    table: Any,
    label: str,
    *,
    facts: bool | None = None,
    wording: Any = None,
    queries: Asked = "columns",
    model: str = "auto",
    answer_error: float = ANSWER_ERROR,
    stopping: Rule | None = None,
    patience: int = 0,
    seed: int = 0,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    verbose: bool | None = None,
    costs: Any = None,
    constraints: Any = None,
    seconds: float | None = None,
) -> InformationPursuitClassifier:
    """A classifier that asks about the columns of a table; ``clf.feature_names_in_`` are those that it asks about.

    Parameters
    ----------
    table: a .csv, .tsv or .parquet file, or a pandas, polars or pyarrow table.
    label: the column to be found out.
    facts: True: a row states what is true of its label, with "sometimes" or a share such as 0.7 allowed in yes/no
        columns. False: a row is one example of many. None: facts where labels have fewer than three rows on average.
    wording: a .csv or .yaml file, or {query or column: sentence}: how questions are asked, in any language.
    queries: "columns", or "yes-no", which asks about each category by itself.
    model: "auto", "table" or "empirical", as for `InformationPursuitClassifier`; facts are always a table.
    answer_error: facts only: how often an answer is another one than the table states.
    stopping, patience, seed: as for `Pursuit`; None stops when it is 99 % sure or nothing would tell 0.001 nats.
    drop, keep: columns to leave out, and columns not to be left out although they look like names or row numbers.
    costs, constraints: `Costs` and `Constraints`, as for `Pursuit`; or ``costs`` is a .csv, .yaml or .json file of
        both, which may also say what is asked together.
    seconds: how long choosing a question may take, as for `Pursuit`.

    >>> import pandas as pd
    >>> import infopursuit as ip
    >>> animals = pd.DataFrame({"animal": ["cat", "owl", "carp"], "fur": [1, 0, 0], "flies": ["no", "yes", "no"]})
    >>> clf = ip.fit_table(animals, label="animal", wording={"fur": "Does it have fur?"})
    >>> print(clf.session().question)
    Does it have fur?
    """
    labelled = label_table(table, label, facts=facts, drop=drop, keep=keep)
    logger.info("taken as a table of %s: %s", "facts" if labelled.facts else "examples", labelled.why)
    for name, why in labelled.left_out.items():
        logger.info("%s is not asked about: %s", name, why)
    settings: dict[str, Any] = {"patience": patience, "random_state": seed, "verbose": verbose}
    settings["stopping"] = default_stopping() if stopping is None else stopping
    given = read_terms(costs) if isinstance(costs, (str, Path)) else TermsFile(costs, constraints)
    settings |= {"costs": given.costs, "constraints": given.constraints, "seconds": seconds}
    if labelled.facts:
        stated = read_facts(labelled.X, labelled.y, len(labelled.classes), yes_no=queries == "yes-no")
        return fit_facts(labelled, stated, answer_error, wording, settings, given.groups)
    return fit_examples(labelled, queries, model, wording, settings, given.groups)


def fit_facts(
    table: LabelledTable,
    facts: Facts,
    answer_error: float,
    wording: Any,
    settings: Mapping[str, Any],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> InformationPursuitClassifier:
    """A classifier from facts: nothing is learnt, the table is the model."""
    asked = with_wording(facts.queries, wording, groups)
    clf = InformationPursuitClassifier(asked, facts.model(answer_error), **settings)
    with warnings.catch_warnings():  # a table of facts has as many labels as rows; numbers among them are names
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        return clf.fit(table.X, table.labels)


def fit_examples(
    table: LabelledTable,
    queries: Asked,
    model: str,
    wording: Any,
    settings: Mapping[str, Any],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> InformationPursuitClassifier:
    """A classifier from examples, its model chosen on held-out rows."""
    asked = with_wording(query_builders.columns(table.X, yes_no=queries == "yes-no"), wording, groups)
    return InformationPursuitClassifier(asked, model, **settings).fit(table.X, table.labels)


def with_wording(queries: QuerySet, wording: Any, groups: Mapping[str, Sequence[str]] | None = None) -> QuerySet:
    """The queries in the words of a file or a mapping, as they are where there are none; those of a group as one."""
    given: Mapping[str, Wording | str] = {}
    if wording is not None:
        given = read_wording(wording) if isinstance(wording, (str, Path)) else wording
    groups = groups or {}
    queries = reword(queries, {key: words for key, words in given.items() if key not in groups})
    if not groups:
        return queries
    together: QuerySet = query_builders.groups(queries, groups)
    return reword(together, {key: words for key, words in given.items() if key in groups})
