"""What is known to be wrong with real tables is what the linter says about them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import infopursuit as ip
from benchmarks.datasets import cub, data_folder, zoo
from benchmarks.datasets.small_tables import distinct
from data_fixtures import data_beside  # noqa: F401
from infopursuit.datasets.tables import read_arrays

pytestmark = pytest.mark.usefixtures("data_beside")


def need(name):
    if not (data_folder() / name).is_file():
        pytest.skip(f"{name} is not in {data_folder()}; set INFOPURSUIT_DATA to the folder that holds it")
    return data_folder() / name


def diseases_as_published():
    """The 4,920 rows as they are handed around; `datasets.diseases` has removed the repeats."""
    path = need("disease_symptoms.npz")
    arrays = read_arrays(path, ("x", "y", "n_symptoms", "symptom_names", "class_names"))
    x = np.unpackbits(arrays["x"], axis=1)[:, : int(arrays["n_symptoms"])]
    return distinct([str(name) for name in arrays["symptom_names"]]), x, arrays["class_names"].astype(str)[arrays["y"]]


@pytest.mark.data
def test_a_random_split_of_the_disease_table_tests_memory():
    names, x, y = diseases_as_published()
    report = ip.lint(ip.queries.concepts(names), x, y)
    found = report.of_kind("duplicate rows")[0]
    assert found.severity == "serious"
    assert (found.numbers["distinct"], found.numbers["rows"], found.numbers["once"]) == (304, 4920, 0)
    assert found.numbers["in_training"] > 0.999
    assert "Only 304 of 4,920 rows are distinct" in found.sentence
    assert report.of_kind("constant")[0].queries == ("fluid_overload",)
    assert not report.of_kind("leak")


@pytest.mark.data
def test_class_level_attributes_of_birds_are_facts_not_observations():
    need("cub_attributes.npz")
    data = cub(answers="simulated")
    species = np.concatenate([data.y_train, data.y_test])
    x = (data.class_percentages >= 50)[species].astype(int)
    names = np.array(data.class_names)[species]
    report = ip.lint(ip.queries.concepts(data.feature_names), x, names)
    found = report.of_kind("class-level rows")[0]
    assert found.severity == "serious"
    assert found.numbers["classes_without_variation"] == 200
    assert found.numbers["in_training"] == 1.0
    assert "every class has the same answers in each of its rows" in found.sentence


@pytest.mark.data
def test_zoo_says_what_is_true_of_it():
    need("zoo.npz")
    data = zoo()
    x, y = np.concatenate([data.x_train, data.x_test]), np.concatenate([data.y_train, data.y_test])
    kinds = np.array(data.class_names)[y]
    report = ip.lint(ip.queries.columns(names=data.feature_names), x, kinds)
    assert not report.serious
    assert report.of_kind("duplicate rows")[0].numbers["distinct"] == 59


def test_breast_cancer_is_sound():
    bunch = load_breast_cancer(as_frame=True)
    report = ip.lint(ip.queries.columns(), bunch.data, bunch.target)
    assert not [finding for finding in report.findings if finding.severity != "note"], str(report)
