"""What `fit` says of itself: on rows that it did not learn from, and about as good as new rows show it to be."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.estimator.assessment import ENOUGH_ROWS, MIN_GROUPS, N_PARTS, Measured, assessment_of, held_out_parts
from infopursuit.models.networks.masked import Training

Classifier = partial(ip.InformationPursuitClassifier, verbose=False)
QUICK_HYBRID = ip.Hybrid(n_members=2, training=Training(max_steps=60, n_units=16))


def quick_amortized():
    pytest.importorskip("torch")
    return ip.Amortized("nats", training=ip.QuerierTraining(epochs=2))


STRATEGIES = {
    "table": lambda: "table",
    "empirical": lambda: "empirical",
    "hybrid": lambda: QUICK_HYBRID,
    "amortized": quick_amortized,
}


def draw(n, seed=0, *, informative=True):
    """Numbers and categories, and a label that one of each tells something about, or none."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    told = y if informative else rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "size": rng.normal(1.5 * told, 1.0),
            "width": rng.normal(size=n),
            "colour": np.where(rng.random(n) < 0.7, told, 1 - told).astype(str),
        }
    )
    return frame, y


# ---- nothing of a held-out row is learnt ----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["auto", ip.MaxQueries(2)], ids=["rule chosen", "rule given"])
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.filterwarnings("ignore:no column tells")
def test_the_labels_of_a_held_out_part_change_nothing_that_is_measured_on_it(name, rule):
    """Each part in turn: thresholds, encodings, early stopping, temperatures, rule and strategy do not see it."""
    X, y = draw(90)
    strategy = STRATEGIES[name]()
    first = Classifier(strategy=strategy, stopping=rule).fit(X, y)
    assert not np.isnan(first.held_out_posterior_).any()

    for part in held_out_parts(np.arange(len(y)))[:2]:
        perturbed = y.copy()
        perturbed[part] = 1 - perturbed[part]
        again = Classifier(strategy=strategy, stopping=rule).fit(X, perturbed)
        np.testing.assert_allclose(again.held_out_posterior_[part], first.held_out_posterior_[part], rtol=0, atol=1e-6)

        others = np.setdiff1d(np.arange(len(y)), part)
        assert np.abs(again.held_out_posterior_[others] - first.held_out_posterior_[others]).max() > 1e-3


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.filterwarnings("ignore:no column tells")
def test_the_inputs_of_a_held_out_part_change_nothing_that_is_measured_on_its_other_rows(name):
    """Quantiles, scales and categories are those of the training rows."""
    X, y = draw(90)
    strategy = STRATEGIES[name]()
    first = Classifier(strategy=strategy).fit(X, y)

    part = held_out_parts(np.arange(len(y)))[0]
    changed, kept = part[::2], part[1::2]
    moved = X.copy()
    moved.loc[changed, "size"] += 100.0
    moved.loc[changed, "colour"] = "green"
    again = Classifier(strategy=strategy).fit(moved, y)
    np.testing.assert_allclose(again.held_out_posterior_[kept], first.held_out_posterior_[kept], rtol=0, atol=1e-6)


def test_copies_of_a_row_are_held_out_together():
    groups = np.repeat(np.arange(60), 3)
    for part in held_out_parts(groups):
        assert set(groups[part]).isdisjoint(np.delete(groups, part))


def test_rows_of_a_group_are_held_out_together():
    """The label is that of the patient, and a column names the patient: on other patients it is worth nothing."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(80), 5)
    X = pd.DataFrame({"height": patient + rng.normal(0, 0.01, 400), "noise": rng.normal(size=400)})
    y = rng.integers(0, 2, 80)[patient]
    strategy = ip.Hybrid(n_members=2, training=Training(max_steps=400, n_units=32))
    clf = Classifier(strategy=strategy, stopping=ip.MaxQueries(2)).fit(X, y, groups=patient)
    assert clf.assessment_.accuracy < 0.65
    assert clf.assessment_.n_effective < 200

    with pytest.raises(ValueError, match="groups has 3 entries and X has 400 rows"):
        Classifier(strategy="table").fit(X, y, groups=[1, 2, 3])


def test_columns_that_agree_with_the_label_are_asked_about():
    """Most rows of a class are the same; they are cases of that class, not copies of one row."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = pd.DataFrame({f"c{i}": np.where(rng.random(400) < 0.99, y, 1 - y) for i in range(8)})
    clf = Classifier(strategy="table").fit(X, y)
    assert not clf.tuning_.tells_nothing
    assert clf.assessment_.accuracy > 0.95


# ---- at chance level it says chance level ---------------------------------------------------------------------------


NOISE = {
    "plain": {},
    "weights 2": {"sample_weight": lambda rng, y: np.full(len(y), 2.0)},
    "exponential weights": {"sample_weight": lambda rng, y: rng.exponential(size=len(y))},
    "class prior": {"class_prior": lambda rng, y: [0.5, 0.5]},
}


@pytest.mark.parametrize("strategy", ["table", QUICK_HYBRID], ids=["table", "hybrid"])
@pytest.mark.parametrize("case", [*NOISE, "copies", "many columns"])
@pytest.mark.filterwarnings("ignore:no column tells")
def test_on_noise_it_says_chance_level(case, strategy):
    rng = np.random.default_rng(7)
    n_copies = 3 if case == "copies" else 1
    n_columns = 40 if case == "many columns" else 4
    X = np.repeat(rng.normal(size=(160, n_columns)), n_copies, axis=0)
    share = 0.2 if case == "class prior" else 0.5
    y = np.repeat((rng.random(160) < share).astype(int), n_copies)
    options = {name: make(rng, y) for name, make in NOISE.get(case, {}).items()}

    assessment = Classifier(strategy=strategy).fit(X, y, **options).assessment_
    error = 0.5 / np.sqrt(assessment.n_effective)
    assert assessment.accuracy == pytest.approx(0.5, abs=3.5 * error)
    assert assessment.low <= 0.5 + error
    assert assessment.n_effective <= 160
    assert assessment.by_class.auc == pytest.approx(0.5, abs=0.15)


@pytest.mark.filterwarnings("ignore:no column tells")
def test_balanced_noise_is_right_half_of_the_time():
    """One class in ten, weighted so that both count alike: predicting the frequent one is worth one half."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.arange(300) % 10 == 0
    by_class = Classifier(strategy="table", class_weight="balanced").fit(X, y).assessment_
    by_row = Classifier(strategy="table").fit(X, y, sample_weight=np.where(y, 5.0, 5 / 9)).assessment_
    for assessment in (by_class, by_row):
        assert assessment.accuracy == pytest.approx(0.5, abs=0.2)
        assert assessment.prior_log_loss == pytest.approx(np.log(2), abs=1e-6)
        assert sum(assessment.by_class.recall) / 2 == pytest.approx(assessment.accuracy)


@pytest.mark.parametrize("strategy", ["table", "hybrid"])
def test_new_rows_show_what_it_said(strategy):
    X, y = draw(400)
    new, labels = draw(4000, seed=1)
    clf = Classifier(strategy=strategy).fit(X, y)
    trace = clf.explain(new)
    accuracy = (trace.predictions == labels).mean()
    assert clf.assessment_.accuracy == pytest.approx(accuracy, abs=0.06)
    assert clf.assessment_.low - 0.01 <= accuracy <= clf.assessment_.high + 0.01
    assert clf.assessment_.confidence == pytest.approx(accuracy, abs=0.06)
    assert clf.assessment_.n_questions == pytest.approx(trace.length.mean(), abs=0.7)


# ---- where and how it is measured -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [MIN_GROUPS - 1, MIN_GROUPS, 1999, 2000, 30_000])
def test_every_row_is_held_out_once_or_a_part_where_rows_are_many(n):
    parts = held_out_parts(np.arange(n))
    rows = np.concatenate([*parts, np.zeros(0, int)])
    assert len(rows) == len(np.unique(rows))
    if n < MIN_GROUPS:
        assert parts == []
    elif n < 2000:
        assert len(parts) == N_PARTS
        assert len(rows) == n
    else:
        assert len(parts) == 1
        assert len(rows) <= 2500


@pytest.mark.filterwarnings("ignore:no column tells")
def test_what_cannot_be_measured_is_not_said():
    X, y = draw(30)
    assert Classifier(strategy="table").fit(X, y).assessment_ is None
    X, y = draw(100)
    clf = Classifier(strategy="table", assess=False).fit(X, y)
    assert clf.assessment_ is None
    assert clf.held_out_posterior_ is None
    assert clf.tuning_.accuracy is None
    fitted_elsewhere = ip.models.naive_bayes(1.0)
    assert Classifier(strategy=fitted_elsewhere).fit(X, y).assessment_ is not None


def test_a_predictor_that_was_fitted_elsewhere_is_not_measured():
    """It has seen all rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] > 0).astype(int)
    boosted = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    strategy = ip.Hybrid(predictor=boosted, training=Training(max_steps=50, n_units=8))
    assert Classifier(strategy=strategy, stopping=ip.MaxQueries(2)).fit(X, y).assessment_ is None


@pytest.mark.filterwarnings("ignore:no column tells")
def test_of_many_rows_the_classifier_that_was_measured_is_kept():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(ENOUGH_ROWS, 3)).astype(float) + np.arange(ENOUGH_ROWS)[:, None] * 1e-7
    y = (X[:, 0] > 1).astype(int)
    clf = Classifier(strategy="table").fit(X, y)
    assert clf.assessment_.n_parts == 1
    assert clf.assessment_.n_rows == 2500
    assert clf.assessment_.n_trained >= 0.7 * ENOUGH_ROWS
    measured = ~np.isnan(clf.held_out_posterior_[:, 0])
    assert measured.sum() == 2500
    np.testing.assert_allclose(clf.predict_proba(X[measured]), clf.held_out_posterior_[measured], atol=1e-9)


def test_figures_follow_from_the_held_out_posterior():
    X, y = draw(150)
    weights = np.linspace(0.5, 2.0, 150)
    clf = Classifier(strategy="table").fit(X, y, sample_weight=weights)
    correct = clf.held_out_posterior_.argmax(axis=1) == y
    assert clf.assessment_.accuracy == pytest.approx(np.average(correct, weights=weights))
    assert clf.assessment_.n_rows == 150
    assert clf.assessment_.n_effective < 150
    recall = np.average(correct[y == 1], weights=weights[y == 1])
    assert clf.assessment_.by_class.recall[1] == pytest.approx(recall)
    assert clf.tuning_.accuracy == clf.assessment_.accuracy


def test_a_group_counts_as_one_row_where_its_rows_are_right_together():
    rng = np.random.default_rng(0)
    right = rng.random(100) < 0.8
    posterior = np.where(right, 0.9, 0.2)
    once = _assessed(posterior, np.arange(100))
    repeated = np.repeat(posterior, 4)
    together = _assessed(repeated, np.repeat(np.arange(100), 4))
    apart = _assessed(repeated, np.arange(400))
    assert together.accuracy == once.accuracy
    assert together.n_effective == pytest.approx(once.n_effective)
    assert (together.low, together.high) == pytest.approx((once.low, once.high))
    assert apart.high - apart.low < 0.6 * (once.high - once.low)


def _assessed(posterior, groups):
    """Figures of rows of class 1 with these posteriors of class 1."""
    n = len(posterior)
    measured = Measured(
        rows=np.arange(n),
        posterior=np.stack([1 - posterior, posterior], axis=1),
        labels=np.ones(n, dtype=np.int64),
        weights=np.ones(n),
        groups=groups,
        lengths=np.ones(n, dtype=np.int64),
        n_trained=n,
    )
    return assessment_of([measured])


# ---- unequal classes ------------------------------------------------------------------------------------------------


def test_class_weight_is_that_of_rows():
    X, y = draw(200)
    weights = np.where(y == 1, 3.0, 1.0)
    by_class = Classifier(strategy="table", class_weight={1: 3.0}, assess=False).fit(X, y)
    by_row = Classifier(strategy="table", assess=False).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X))


@pytest.mark.parametrize(
    ("class_weight", "named"), [("even", "'balanced'"), ({"no": 2.0}, "not a class"), ({1: -1.0}, "class_weight")]
)
def test_class_weights_that_cannot_be_are_refused(class_weight, named):
    X, y = draw(60)
    with pytest.raises(ValueError, match=named):
        Classifier(strategy="table", class_weight=class_weight).fit(X, y)


def test_a_rare_class_is_asked_about():
    """Accuracy alone would ask nothing: the frequent class stays the likelier one nearly always."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = rng.random(4000) < 1 / (1 + np.exp(6.5 - 2.0 * X[:, 0] - 1.5 * X[:, 1]))
    assert y.mean() < 0.03
    clf = Classifier(strategy="hybrid", assess=False).fit(X, y)
    trace = clf.explain(X)
    assert trace.length.mean() >= 1

    from sklearn.metrics import roc_auc_score

    new = rng.normal(size=(4000, 5))
    labels = rng.random(4000) < 1 / (1 + np.exp(6.5 - 2.0 * new[:, 0] - 1.5 * new[:, 1]))
    probability = clf.predict_proba(new)[:, 1]
    assert roc_auc_score(labels, probability) > 0.85
    assert probability.mean() == pytest.approx(labels.mean(), rel=0.4)
