"""Faults that were planted are found, each by itself and all together, and where there is none, none is found."""

import json

import numpy as np
import pandas as pd
import pytest
from planted import CONCERNED, FAULTS, clean, plant

import infopursuit as ip
from infopursuit.data_checks.report import KINDS, SEVERITIES, Finding

SERIOUS = {"leak", "identifier", "informative missingness", "duplicate rows"}


def look(X, y, **options):
    return ip.lint(ip.queries.columns(), X, y, **options)


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


def test_a_label_that_every_answer_tells_is_easy_rather_than_given_away():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.stack([np.where(rng.random(400) < 0.01, 1 - y, y) for _ in range(8)], axis=1)
    report = ip.lint(None, X, y)
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
    assert not ip.lint(ip.queries.concepts([f"q{i}" for i in range(20)]), noisy, y).serious


def test_few_columns_repeat_by_themselves():
    """Four yes/no answers have sixteen patterns, whoever is asked: that is no fault of the rows."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 500)
    X = (rng.random((500, 4)) < np.where(y[:, None] == 1, 0.7, 0.3)).astype(int)
    report = ip.lint(None, X, y)
    assert not report.of_kind("duplicate rows")
    assert not report.of_kind("class-level rows")
    bound = report.of_kind("conflicting labels")[0].numbers["bound"]
    best = sum(np.bincount(y[(row == X).all(axis=1)]).max() for row in np.unique(X, axis=0)) / 500
    assert bound == pytest.approx(best)


def test_the_report_reads_and_is_data():
    report = look(*plant("all"), source="a table")
    text = str(report)
    assert text.startswith("a table: 1,830 rows, 3 labels, 15 queries. 4 serious")
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
    X, y = plant("leak", 300)
    assert look(X, y).to_json() == look(X, y).to_json()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": ["a"] * 3}, "y has shape"),
        ({"y": ["a"] * 50}, "y has one label"),
        ({"queries": 3}, "queries=3"),
    ],
)
def test_what_does_not_fit_is_refused(change, words):
    X = pd.DataFrame({"a": np.arange(50) % 3, "b": np.arange(50) % 2})
    given = {"queries": None, "X": X, "y": np.arange(50) % 2, **change}
    with pytest.raises(ValueError, match=words):
        ip.lint(given.pop("queries"), given.pop("X"), given.pop("y"), **given)


def test_imbalanced_labels_are_told():
    X, y = clean(600)
    assert not look(X, y).of_kind("imbalance")
    rare = np.where(np.arange(600) < 3, "mumps", y)
    assert look(X, rare).of_kind("imbalance")[0].numbers["rare"] == ["mumps"]
    mostly = np.where(np.arange(600) < 40, y, "flu")
    assert look(X, mostly).of_kind("imbalance")[0].numbers["share"] == pytest.approx((mostly == "flu").mean())
