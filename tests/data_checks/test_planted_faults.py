"""Faults that were planted are found, each by itself and all together, and where there is none, none is found."""

import json

import numpy as np
import pandas as pd
import pytest
from planted import CONCERNED, FAULTS, clean, plant

import infopursuit as ip
from infopursuit.data_checks.report import KINDS, SEVERITIES, Finding

SERIOUS = {"leak", "pair leak", "identifier", "informative missingness", "duplicate rows"}


def look(X, y, **options):
    return ip.lint(ip.queries.columns(), X, y, **{"model": False, **options})


def columns_of(finding):
    """The columns that a finding is about; a threshold such as "age > 30" is about "age"."""
    return {name.split(" > ")[0] for name in finding.queries}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault):
    report = look(*plant(fault))
    found = report.of_kind(fault)
    assert len(found) == 1, str(report)
    if fault in CONCERNED:
        assert columns_of(found[0]) == CONCERNED[fault]
    assert (found[0].severity == "serious") == (fault in SERIOUS)
    assert report.serious == (fault in SERIOUS)
    assert found[0].remedy
    assert any(letter.isdigit() for letter in found[0].sentence) or fault == "identifier"


def test_all_planted_faults_are_found_together():
    report = look(*plant("all"))
    assert set(FAULTS) <= {finding.kind for finding in report.findings}, str(report)
    for fault, columns in CONCERNED.items():
        assert columns <= columns_of(report.of_kind(fault)[0]), fault
    severities = [SEVERITIES.index(finding.severity) for finding in report.findings]
    assert severities == sorted(severities)


@pytest.mark.slow
def test_a_table_without_faults_raises_no_alarm():
    """Over eight tables: nothing serious, and hardly a warning."""
    findings = [finding for seed in range(8) for finding in look(*clean(500, seed), seed=seed).findings]
    assert not [finding for finding in findings if finding.severity == "serious"]
    assert len([finding for finding in findings if finding.severity == "warning"]) <= 1, findings
    assert len(findings) <= 3, findings


def test_either_but_not_both_is_not_called_useless():
    """Two answers that tell nothing alone and something together, among others that tell nothing at all."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (600, 12))
    y = np.where(rng.random(600) < 0.1, rng.integers(0, 2, 600), X[:, 2] ^ X[:, 7])
    report = ip.lint(ip.queries.concepts([f"q{i}" for i in range(12)]), X, y, model=False)
    useless = report.of_kind("uninformative")[0]
    assert set(useless.queries) == {f"q{i}" for i in range(12)} - {"q2", "q7"}
    assert report.measured["uninformative"]["informative_with"] == {"q2": "q7", "q7": "q2"}
    assert not report.of_kind("pair leak")  # 95 % right is not enough for that


def test_three_that_only_work_together_are_kept():
    """No pair tells anything, but a black box without them is worse: then "leave them out" would be wrong."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (1500, 4))
    y = X[:, 0] ^ X[:, 1] ^ X[:, 2]
    y = np.where(rng.random(1500) < 0.1, X[:, 3], y)
    report = ip.lint(ip.queries.concepts(["a", "b", "c", "d"]), X, y, model=False)
    found = report.of_kind("uninformative")
    assert set(found[0].queries) == {"a", "b", "c"}
    assert found[0].numbers["gap_low"] > 0.2
    assert "needed together" in found[0].remedy


def test_a_label_that_every_answer_tells_is_easy_rather_than_given_away():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.stack([np.where(rng.random(400) < 0.01, 1 - y, y) for _ in range(8)], axis=1)
    report = ip.lint(None, X, y, model=False)
    assert len(report.of_kind("leak")) == 1
    assert len(report.of_kind("leak")[0].queries) >= 6
    assert not report.serious


def test_facts_by_class_are_no_observations():
    rng = np.random.default_rng(0)
    facts = rng.integers(0, 2, (15, 20))
    y = rng.integers(0, 15, 300)
    report = ip.lint(ip.queries.concepts([f"q{i}" for i in range(20)]), facts[y], y)
    found = report.of_kind("class-level rows")[0]
    assert found.severity == "serious"
    assert found.numbers["patterns"] == 15
    assert "lookup" in found.sentence
    assert not report.of_kind("duplicate rows")  # it is said once
    noisy = np.where(rng.random((300, 20)) < 0.2, 1 - facts[y], facts[y])
    assert not ip.lint(ip.queries.concepts([f"q{i}" for i in range(20)]), noisy, y, model=False).serious


def test_few_columns_repeat_by_themselves():
    """Four yes/no answers have sixteen patterns, whoever is asked: that is no fault of the rows."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 500)
    X = (rng.random((500, 4)) < np.where(y[:, None] == 1, 0.7, 0.3)).astype(int)
    report = ip.lint(None, X, y, model=False)
    assert not report.of_kind("duplicate rows")
    assert not report.of_kind("class-level rows")
    bound = report.of_kind("conflicting labels")[0].numbers["bound"]
    best = sum(np.bincount(y[(row == X).all(axis=1)]).max() for row in np.unique(X, axis=0)) / 500
    assert bound == pytest.approx(best)


def test_queries_that_lose_information_and_a_model_that_does():
    """A threshold in the wrong place loses it; naive Bayes loses what lies in "either but not both"."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, (900, 2))
    y = (x[:, 0] > 0.9).astype(int) ^ (x[:, 1] > 0.5)
    queries = ip.queries.functions({"a": lambda X: X[:, 0] > 0.5, "b": lambda X: X[:, 1] > 0.5})
    lost = ip.lint(queries, x, y, model=False).of_kind("insufficient queries")
    assert lost[0].numbers["on_inputs"] > lost[0].numbers["on_answers"] + 0.04
    bits = rng.integers(0, 2, (900, 4))
    odd = np.where(rng.random(900) < 0.05, 1 - (bits[:, 0] ^ bits[:, 1]), bits[:, 0] ^ bits[:, 1])
    report = ip.lint(ip.queries.concepts(list("abcd")), bits, odd, model=ip.models.naive_bayes())
    worse = report.of_kind("insufficient model")
    assert worse[0].numbers["model"] < 0.75
    assert worse[0].numbers["on_answers"] > 0.9
    assert not report.of_kind("insufficient queries")  # concepts are all that there is
    assert not ip.lint(ip.queries.concepts(list("abcd")), bits, odd).of_kind("insufficient model")


def test_groups_stay_on_one_side():
    """Visits of a patient that are nearly copies: held out by row they are recognised, by patient they are not."""
    rng = np.random.default_rng(4)
    patient = np.repeat(np.arange(60), 10)
    habits = rng.normal(size=(60, 12))
    y = rng.integers(0, 2, 60)[patient]
    X = habits[patient] + rng.normal(0, 0.05, (600, 12))
    measured = [
        ip.lint(None, X, y, groups=groups, model=False).measured["sufficiency"]["baseline_on_answers"][0]
        for groups in (None, patient)
    ]
    assert measured[0] > 0.95
    assert measured[1] < 0.75


def test_the_report_reads_and_is_data():
    report = look(*plant("all"), source="a table")
    text = str(report)
    assert text.startswith("a table: 1,830 rows, 3 labels, 50 queries. 5 serious")
    assert max(map(len, text.splitlines())) <= 79
    assert text.index("── Serious") < text.index("── Warnings") < text.index("── Notes")
    data = json.loads(report.to_json())
    assert data["serious"] is True
    assert [f["kind"] for f in data["findings"]] == [f.kind for f in report.findings]
    assert set(data["findings"][0]) == {"kind", "severity", "queries", "numbers", "sentence", "remedy"}
    assert all(finding.kind in KINDS for finding in report.findings)
    with pytest.raises(AttributeError):
        Finding("leak", "note", "", "").kind = "other"


def test_the_same_rows_and_seed_give_the_same_report():
    X, y = plant("uninformative", 300)
    assert look(X, y).to_json() == look(X, y).to_json()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": ["a"] * 3}, "y has shape"),
        ({"y": ["a"] * 50}, "y has one label"),
        ({"groups": [1, 2]}, "groups has shape"),
        ({"queries": 3}, "queries=3"),
    ],
)
def test_what_does_not_fit_is_refused(change, words):
    X = pd.DataFrame({"a": np.arange(50) % 3, "b": np.arange(50) % 2})
    given = {"queries": None, "X": X, "y": np.arange(50) % 2, **change}
    with pytest.raises(ValueError, match=words):
        ip.lint(given.pop("queries"), given.pop("X"), given.pop("y"), **given)
