"""Drift: nothing is found where nothing has changed, and what was planted is found and named."""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.answer_profile import AnswerProfile
from infopursuit.monitoring import ANSWERS, CLASS, MISSING, compare_answers, judged
from infopursuit.queries.wording import VariableWords

Classifier = ip.InformationPursuitClassifier


def people(n, seed, *, ill=0.4):
    """Two classes, a number, a category, two yes/no marks and a column that says nothing; some gaps."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < ill, "ill", "well")
    sick = y == "ill"
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(np.where(sick, 60, 45), 12), 1),
            "colour": np.where(rng.random(n) < np.where(sick, 0.7, 0.2), "pale", rng.choice(["red", "tan"], n)),
            "fever": (rng.random(n) < np.where(sick, 0.8, 0.1)).astype(float),
            "cough": (rng.random(n) < np.where(sick, 0.6, 0.3)).astype(float),
            "shoe": rng.integers(36, 47, n).astype(float),
        }
    )
    frame.loc[rng.random(n) < 0.1, "cough"] = np.nan
    return frame, y


def fitted(n=300, seed=0, **options):
    X, y = people(n, seed)
    options = {"strategy": ip.models.naive_bayes(1.0), "stopping": ip.Confidence(0.01), **options}
    return Classifier(**options).fit(X, y)


@pytest.fixture(scope="module")
def clf():
    return fitted()


# ---- false alarms ---------------------------------------------------------------------------------------------------


def test_random_splits_of_the_same_data_are_no_drift():
    """Asked for: "no drift" in 95 of 100 checks; the level is 0.01, so that 1 in 100 is expected at most."""
    X, y = people(400, seed=7)
    rng = np.random.default_rng(8)
    alarms = 0
    for _ in range(40):
        rows = rng.permutation(400)
        train, new = rows[:280], rows[280:]
        model = Classifier(strategy=ip.models.naive_bayes(1.0)).fit(X.iloc[train], y[train])
        alarms += model.drift(X.iloc[new]).found
    assert alarms <= 2


@pytest.mark.parametrize("n_now", [15, 80, 500])
def test_the_level_is_that_of_the_whole_verdict(n_now):
    """200 checks of twelve dependent columns at a level of 0.05: at most 5 % alarms, within three standard errors."""
    rng = np.random.default_rng(9)
    sizes = (2,) * 6 + (4,) * 4 + (9,) * 2
    variables = ip.queries.concepts(["a"]).variables.__class__(sizes)

    def draw(n):
        state = rng.integers(3, size=n)  # what the columns have in common
        values = np.stack([(rng.integers(s, size=n) + state * (i % 2)) % s for i, s in enumerate(sizes)], axis=1)
        return np.where(rng.random(values.shape) < 0.05, -1, values)

    words = VariableWords(variables, None)
    alarms = []
    for _ in range(200):
        changes = compare_answers(AnswerProfile.of_values(variables, draw(200)), draw(n_now), words)
        alarms.append(any(change.corrected_p <= 0.05 for change in judged(changes, 0.05)))
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_training_itself_is_no_drift(clf):
    X, _ = people(300, 0)
    report = clf.drift(X)
    assert not report.found
    assert max(change.distance for change in report.changes if change.kind in (ANSWERS, MISSING)) == 0
    assert report.verdict.startswith("No drift: none of 12 comparisons of 300 inputs with training is significant")


# ---- what was planted -----------------------------------------------------------------------------------------------


def test_a_column_that_shifted_is_named(clf):
    X, _ = people(150, 1)
    report = clf.drift(X.assign(shoe=X["shoe"] + 3))
    assert [change.name for change in report.drifted()] == ["shoe"]
    change = report.drifted(ANSWERS)[0]
    threshold = float(re.findall(r"[\d.]+", change.example)[0])
    assert change.now == pytest.approx((X["shoe"] + 3 > threshold).mean())
    assert change.before == pytest.approx((people(300, 0)[0]["shoe"] > threshold).mean())
    assert report.verdict == "Drift: answers to 1 of 5 columns have changed (shoe)."
    assert report.unexplained is None


def test_a_category_that_became_common_is_named(clf):
    X, _ = people(150, 2)
    report = clf.drift(X.assign(colour=np.where(np.arange(150) % 2, "tan", X["colour"])))
    assert "colour: tan" in [change.example for change in report.drifted(ANSWERS)]


def test_a_column_that_is_newly_missing_is_named(clf):
    X, _ = people(150, 3)
    report = clf.drift(X.assign(shoe=X["shoe"].where(np.arange(150) % 5 > 0)))
    assert [(change.kind, change.name) for change in report.drifted()] == [(MISSING, "shoe")]
    assert (report.drifted()[0].before, report.drifted()[0].now) == (0.0, 0.2)
    assert "1 column is missing more often (shoe)" in report.verdict
    assert "An answer that training never had counts as missing" in str(report)
    whole = clf.drift(X.assign(cough=X["cough"].fillna(0.0)))
    assert whole.changes[8].name == "cough"
    assert whole.changes[8].now == 0


def test_a_category_that_training_never_had_counts_as_not_known(clf):
    X, _ = people(150, 4)
    report = clf.drift(X.assign(colour=np.where(np.arange(150) % 3, X["colour"], "blue")))
    assert (MISSING, "colour") in [(change.kind, change.name) for change in report.drifted()]


def test_classes_that_became_frequent_are_named_and_explain_the_answers(clf):
    X, _ = people(200, 5, ill=0.9)
    report = clf.drift(X)
    found = {change.name: change for change in report.drifted(CLASS)}
    assert set(found) == {"ill", "well"}
    assert found["ill"].before == pytest.approx(clf.model_.class_prior[0])
    assert found["ill"].now == pytest.approx(clf.predict_proba(X)[:, 0].mean())
    assert {"age", "fever"} <= {change.name for change in report.drifted(ANSWERS)}
    assert report.unexplained == ()
    assert "none would differ if" in str(report).replace("\n", " ")
    both = clf.drift(X.assign(shoe=X["shoe"] + 4))
    assert both.unexplained == ("shoe",)
    assert "1 would still differ (shoe)" in str(both).replace("\n", " ")


def test_shares_that_were_announced_are_no_drift():
    """`fit(class_prior=...)` says how frequent classes will be: then answers are expected to be as those make them."""
    X, y = people(400, 0)
    model = Classifier(strategy=ip.models.naive_bayes(1.0)).fit(X, y, class_prior={"ill": 0.9, "well": 0.1})
    new, _ = people(200, 6, ill=0.9)
    assert not model.drift(new).found
    assert model.drift(people(200, 6)[0]).found


def test_a_change_too_small_to_matter_is_not_counted():
    variables = ip.queries.concepts(["a", "b"]).variables
    words = VariableWords(variables, None)
    profile = AnswerProfile.of_values(variables, np.tile([[0, 1], [1, 0]], (50_000, 1)))
    values = np.tile([[0, 1], [1, 0]], (50_000, 1))
    values[:1_600, 0] = 1
    first, *_ = judged(compare_answers(profile, values, words), 0.01)
    assert first.corrected_p < 0.01
    assert not first.drifted
    values[:3_000, 0] = 1
    assert judged(compare_answers(profile, values, words), 0.01)[0].drifted


# ---- other queries, other models ------------------------------------------------------------------------------------


def test_pixels_and_words_are_named():
    rng = np.random.default_rng(0)
    images = (rng.random((80, 4, 4)) < 0.3).astype(float)
    images[:40, 1:3, 1:3] = 1
    y = np.repeat([0, 1], 40)
    pictures = Classifier(ip.queries.patches((4, 4), size=2), "table").fit(images, y)
    new = images.copy()
    new[:, 0, 3] = 1
    report = pictures.drift(new)
    assert report.verdict == "Drift: answers to 1 of 16 pixels have changed (row 1, column 4)."
    assert report.drifted()[0].example == "row 1, column 4: lit"
    texts = ["film actor", "law senate", "film trailer", "senate votes"] * 20
    clf = Classifier(ip.queries.words(min_count=1), "table").fit(texts, [0, 1] * 40)
    report = clf.drift([text.replace("law", "film") for text in texts])
    assert report.variables == ("word", "words")
    assert [change.example for change in report.drifted(ANSWERS)] == ["law: yes"]


def test_every_kind_of_model_has_a_profile():
    X = np.random.default_rng(0).integers(2, size=(60, 4)).astype(float)
    short = ip.models.Training(epochs=1, batch_size=16, validation=0.2)
    tiny = ip.models.vae(ip.models.MLPArchitecture((4,)), 1, short)
    for model, posterior in (("empirical", "auto"), (tiny, ip.beliefs.SMC(n_draws=20))):
        clf = Classifier(ip.queries.concepts(list("abcd")), model, posterior, ip.MaxQueries(2)).fit(X, X[:, 0])
        assert clf.profile_.n_rows == 60
        assert not clf.drift(X).drifted(ANSWERS)
        assert [change.name for change in clf.drift(X * [1, 1, 1, 0]).drifted(ANSWERS)] == ["d"]


def test_only_some_inputs_are_pursued(clf, monkeypatch):
    X, _ = people(150, 1)
    assert clf.drift(X).n_pursued == 150
    monkeypatch.setattr(sys.modules["infopursuit.monitoring"], "MAX_PURSUED", 40)
    report = ip.drift(clf, X)
    assert report.n_pursued == 40
    assert "150 new inputs, 40 of them pursued," in str(report).replace("\n", " ")


# ---- what comes out -------------------------------------------------------------------------------------------------


def test_the_page_fits_and_the_json_says_the_same(clf):
    X, _ = people(150, 5, ill=0.9)
    report = clf.drift(X.assign(shoe=np.nan))
    assert max(map(len, str(report).splitlines())) <= 80
    data = json.loads(report.to_json())
    assert (data["found"], data["verdict"]) == (True, report.verdict)
    assert len(data["changes"]) == len(report.changes) == 12
    assert sum(change["drifted"] for change in data["changes"]) == len(report.drifted())
    assert repr(report) == f"<DriftReport: {len(report.drifted())} of 12 comparisons have drifted>"
    quiet = clf.drift(people(20, 1)[0])
    assert "With so few inputs only a large change would show." in quiet.verdict
    assert "Smallest p-values" in str(quiet)
    assert max(map(len, str(quiet).splitlines())) <= 80


def test_settings_that_cannot_be(clf):
    with pytest.raises(ValueError, match="level=0"):
        ip.drift(clf, people(10, 1)[0], level=0)


def test_what_cannot_be_compared_is_refused(clf):
    X, _ = people(10, 1)
    with pytest.raises(ValueError, match="X has no rows"):
        ip.drift(clf, X.iloc[:0])
    with pytest.raises(ValueError, match="give reference="):
        ip.drift(clf.pursuit_, X)
    with pytest.raises(TypeError, match="model is dict"):
        ip.drift({}, X)
    with pytest.raises(ValueError, match="'age'"):
        clf.drift(X.drop(columns="age"))
    with pytest.raises(Exception, match="not fitted"):
        Classifier().drift(X)
