"""How often a model is right, in a sentence and in tables."""

import re
from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.estimator.assessment import Measured, assessment_of
from infopursuit.presentation.performance import MAX_CLASSES, MAX_CONFUSED, Performance, performance_of
from infopursuit.support import messages


def assessed(shares, n=400, seed=0, sharpness=2.0):
    """An assessment of made-up posteriors of classes with these shares."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(len(shares), n, p=shares)
    labels[: len(shares)] = np.arange(len(shares))
    logits = rng.normal(size=(n, len(shares))) + np.log(shares)
    logits[np.arange(n), labels] += sharpness
    posterior = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    measured = Measured(
        rows=np.arange(n),
        posterior=posterior,
        labels=labels,
        weights=np.ones(n),
        groups=np.arange(n),
        lengths=rng.integers(0, 6, n),
        n_trained=n,
    )
    return Performance(assessment_of([measured]), tuple(f"class {k}" for k in range(len(shares))))


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_the_sentence_has_the_figures(language):
    words = messages.load(language)
    performance = assessed([0.4, 0.6])
    assessment = performance.assessment
    text = performance.say(words)
    shown = [float(text.replace(",", ".")) for text in re.findall(r"\d+(?:[.,]\d+)?", text)]
    percentages = [round(100 * share) for share in (assessment.accuracy, assessment.low, assessment.high)]
    auc = round(assessment.by_class.auc, 2)
    assert sorted(shown) == sorted([*percentages, 400, round(assessment.n_questions, 1), auc])
    assert words("performance.constant", p="", **{"class": ""}).strip(" %") not in text


def test_an_accuracy_that_says_little_stands_beside_that_of_the_most_frequent_class():
    performance = assessed([0.97, 0.03], n=2_000)
    confusion = np.array(performance.assessment.by_class.confusion)
    share = 100 * confusion[0].sum() / confusion.sum()
    assert f"always saying class 0 would be right in {share:.1f} %" in performance.say()
    assert "2,000 rows" in performance.say()
    assert "2.000 Zeilen" in performance.say(messages.load("de"))
    assert "mean over classes" not in performance.say()
    assert "mean over classes" in assessed([0.3, 0.3, 0.4]).say()


def test_the_tables_agree_with_the_confusion_matrix():
    performance = assessed([0.5, 0.3, 0.2])
    words = messages.load("en")
    confusion = np.array(performance.confusion)
    for c, row in enumerate(performance.class_rows):
        assert row.rows == confusion[c].sum()
        assert row.recall == pytest.approx(confusion[c, c] / confusion[c].sum())
        assert row.precision == pytest.approx(confusion[c, c] / confusion[:, c].sum())
    header, *rows = performance.confusion_table(words)
    assert header == ["True class", *(f"Predicted class {c}" for c in range(3))]
    assert [[int(cell) for cell in row[1:]] for row in rows] == confusion.tolist()
    assert performance.class_table(words, "kind")[0] == ["kind", "Rows", "Recall", "Precision"]
    assert len(performance.class_table(words)) == 4


def test_many_classes_have_no_matrix_and_very_many_no_table():
    many = assessed(np.full(MAX_CONFUSED + 1, 1 / (MAX_CONFUSED + 1)))
    assert many.confusion_table(messages.load()) == []
    assert len(many.class_rows) == MAX_CONFUSED + 1
    very_many = assessed(np.full(MAX_CLASSES + 1, 1 / (MAX_CLASSES + 1)))
    assert very_many.class_table(messages.load()) == []
    assert "right in" in very_many.say()


def test_a_class_that_was_never_predicted_has_a_dash():
    performance = assessed([0.98, 0.02], sharpness=0.0)
    by_class = replace(performance.assessment.by_class, precision=(0.98, None))
    performance = replace(performance, assessment=replace(performance.assessment, by_class=by_class))
    assert performance.class_table(messages.load())[2][-1] == "–"


def test_what_was_not_fitted_on_a_table_says_nothing(tmp_path):
    asked = ip.queries.concepts(["has wings"])
    pursuit = ip.generative_pursuit(ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), asked)
    assert performance_of(pursuit) is None

    rng = np.random.default_rng(0)
    images = (rng.random((40, 3, 3)) < 0.5).astype(float)
    clf = ip.InformationPursuitClassifier(queries=ip.queries.patches((3, 3), 1), strategy="table")
    assert performance_of(clf.fit(images, np.arange(40) % 2)) is None


@pytest.mark.parametrize(("n", "assess", "key"), [(30, True, "few_rows"), (120, False, "unmeasured"), (120, True, "")])
def test_a_saved_model_still_knows_it(tmp_path, n, assess, key):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + rng.normal(0, 0.3, n) > 0, "yes", "no")
    clf = ip.InformationPursuitClassifier(strategy="table", assess=assess).fit(X, y)
    clf.save(tmp_path / "model")
    fitted, loaded = performance_of(clf), performance_of(ip.load(tmp_path / "model"))
    assert loaded == fitted
    words = messages.load("fr")
    if key:
        assert loaded.say(words) == words(f"performance.{key}") + "."
        assert loaded.class_rows == ()
    else:
        assert sum(row.rows for row in loaded.class_rows) == n
