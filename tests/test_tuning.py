"""Defaults chosen on held-out rows: the strategy with the lower loss, an honest posterior, the shortest rule as good as
the best."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import infopursuit as ip
from infopursuit.calibration.held_out import held_out_rows
from infopursuit.calibration.temperature import HeldOutRuns
from infopursuit.estimator.tuning import choose_rule, permutation_test, rule_outcomes, tune
from infopursuit.models import Sample
from infopursuit.support.types import Variables

LEVELS = np.array([0.5, 0.7, 0.9, 0.9, 0.9])
"""What the answers tell about the class after 0, 1, ... questions: nothing new after the second."""


def runs(n=2000, sharpness=1.0, levels=LEVELS, gains=None, seed=0):
    """Pursuits whose log-odds are ``sharpness`` times what they should be; 1 is calibrated."""
    rng = np.random.default_rng(seed)
    labels, n_steps = rng.integers(0, 2, n), len(levels)
    leading = np.where(rng.random(n) < levels[-1], labels, 1 - labels)
    odds = sharpness * np.log(levels / (1 - levels))
    log_p = np.stack([-np.logaddexp(0, -odds), -np.logaddexp(0, odds)], axis=1)  # of the leading class, of the other
    # before all answers are in, the leading class is right less often
    log_posterior = np.empty((n, n_steps, 2))
    for k, level in enumerate(levels):
        keep = rng.random(n) < (level - 0.5) / (levels[-1] - 0.5)
        now = np.where(keep, leading, rng.integers(0, 2, n))
        log_posterior[np.arange(n), k, now], log_posterior[np.arange(n), k, 1 - now] = log_p[k]
    told = np.maximum(np.diff(levels, append=levels[-1]), 0.0) if gains is None else np.asarray(gains)
    n_answers = np.broadcast_to(np.arange(n_steps), (n, n_steps))
    return HeldOutRuns(log_posterior, np.tile(told, (n, 1)), n_answers, np.full(n, n_steps - 1), labels)


def test_the_shortest_rule_that_is_as_good_as_the_best():
    made_up = runs()
    outcome = choose_rule(made_up, 4)
    assert outcome.length == pytest.approx(2, abs=0.05)
    assert outcome.accuracy == pytest.approx(0.9, abs=0.03)

    most_accurate = max(rule_outcomes(made_up, 4), key=lambda other: other.accuracy)
    assert most_accurate.accuracy - outcome.accuracy < 0.03
    tuning = tune({"only": made_up}, 4)
    assert tuning.rule.describe() in str(tuning)


def rare_runs(n=20_000, seed=0):
    """One row of 100 is positive; each of six answers tells a little, and the log odds after them are right."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.01).astype(int)
    evidence = rng.normal(0.8 * (labels[:, None] - 0.5), 1.0, (n, 6)) * 0.8
    log_odds = np.log(0.01 / 0.99) + np.concatenate([np.zeros((n, 1)), evidence.cumsum(axis=1)], axis=1)
    log_posterior = np.stack([-np.logaddexp(0, log_odds), -np.logaddexp(0, -log_odds)], axis=2)
    gains = np.tile([0.004] * 6 + [0.0], (n, 1))
    return HeldOutRuns(log_posterior, gains, np.tile(np.arange(7), (n, 1)), np.full(n, 6), labels)


def test_a_rule_still_ranks_the_cases_of_a_rare_class():
    outcomes = rule_outcomes(rare_runs(), 6)
    best = max(outcome.separation for outcome in outcomes)
    worst = min(outcome.separation for outcome in outcomes)
    chosen = choose_rule(rare_runs(), 6)
    assert worst < best - 0.1  # there is something to lose
    assert chosen.separation >= 0.5 + 0.9 * (best - 0.5)


def test_separation_is_the_area_under_the_roc_curve():
    made_up = rare_runs(n=3_000)
    outcome = rule_outcomes(made_up, 6)[-1]
    p = np.exp(made_up.log_posterior[np.arange(3_000), outcome.stops, 1])
    assert outcome.separation == pytest.approx(roc_auc_score(made_up.labels, p))


def test_figures_of_the_rows_on_which_it_was_chosen_are_not_reported():
    tuning = tune({"only": runs()}, 4)
    assert tuning.accuracy is None
    assert tuning.ece is None
    assert "not measured" in str(tuning)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
def test_the_temperature_makes_the_posterior_honest(sharpness):
    tuning = tune({"only": runs(sharpness=sharpness)}, 4)
    assert tuning.temperature == pytest.approx(sharpness, rel=0.15)

    fresh = runs(sharpness=sharpness, seed=1).scaled(tuning.calibrator)
    for k in (1, 2, 3):
        assert fresh.confidence[:, k].mean() == pytest.approx(fresh.correct[:, k].mean(), abs=0.03)


def test_each_number_of_answers_has_a_temperature_of_its_own():
    """Overconfident after one answer, calibrated after two."""
    too_sure = runs(levels=np.array([0.5, 0.7, 0.9]))
    too_sure.log_posterior[:, 1] = runs(sharpness=4.0, levels=np.array([0.5, 0.7, 0.9])).log_posterior[:, 1]
    first, second, *_ = tune({"only": too_sure}, 2).calibrator.by_answers
    assert first > 2
    assert second == pytest.approx(1.0, abs=0.25)


def test_a_rare_class_stays_as_rare_as_it_is_at_any_temperature():
    """Scaling the evidence and not the prior: an answer that tells nothing changes nothing."""
    log_prior = np.log([0.99, 0.01])
    calibrator = ip.TemperatureScaling(5.0, prior=(0.99, 0.01))
    np.testing.assert_allclose(calibrator.log_posterior(log_prior[None], [3]), log_prior[None], atol=1e-12)


def test_a_permutation_test_says_whether_answers_tell_anything():
    informed = [runs(300, seed=seed) for seed in range(8)]
    assert max(map(permutation_test, informed)) < 0.01

    rng = np.random.default_rng(0)
    noise = [replace(made_up, labels=rng.permutation(made_up.labels)) for made_up in informed]
    assert np.median([permutation_test(made_up) for made_up in noise]) > 0.1
    assert "tell nothing" in str(tune({"only": noise[int(np.argmax([permutation_test(n) for n in noise]))]}, 4))


def test_the_strategy_with_the_lower_loss_after_partial_histories_is_taken():
    """They end with the same accuracy, and one gets there sooner."""
    slow = runs(levels=np.array([0.5, 0.5, 0.5, 0.7, 0.9]))
    found = tune({"slow": slow, "fast": runs()}, 4)
    assert found.strategy == "fast"
    assert list(found.candidates) == ["fast", "slow"]
    assert found.candidates["fast"] < found.candidates["slow"]
    sharp = tune({"sharp": runs(sharpness=5.0), "slow": slow}, 4)
    assert sharp.strategy == "sharp"  # that it is overconfident is corrected before


def test_a_rule_that_is_given_is_kept():
    rule = ip.Confidence(0.2)
    found = tune({"only": runs(sharpness=3.0)}, 4, rule)
    assert found.rule is rule
    assert found.temperature == pytest.approx(3.0, rel=0.15)


def test_no_more_questions_than_allowed():
    found = tune({"only": runs()}, 1)
    assert choose_rule(runs(), 1).length <= 1
    assert any(isinstance(rule, ip.MaxQueries) and rule.n == 1 for rule in found.rule.rules)


def test_where_a_rule_stops():
    some = runs(4, gains=[0.2, 0.2, 0.01, 0.0, 0.0])
    assert some.stops(0.99, 0.0, 9).tolist() == [3] * 4  # nothing left to gain
    assert some.stops(0.99, 0.05, 9).tolist() == [2] * 4
    assert some.stops(0.6, 0.0, 9).tolist() == [1] * 4
    assert some.stops(0.5, 0.0, 9).tolist() == [0] * 4
    assert some.stops(0.99, 0.0, 2).tolist() == [2] * 4
    ended = replace(some, length=np.array([1, 2, 3, 4]))
    assert ended.stops(0.99, 0.0, 9).tolist() == [1, 2, 3, 3]


def test_held_out_rows_keep_the_weight_of_their_class_and_have_some_of_a_rare_one():
    n_rows = 4_000
    labels = (np.arange(n_rows) < 20).astype(np.int64)
    sample = Sample.of(Variables((n_rows,)), np.arange(n_rows)[:, None], labels)
    held_out = sample.folds(4)
    pursued = held_out_rows(sample, held_out, 400)
    assert sum(len(rows) for rows, _ in pursued) == 400
    for held, (rows, weights) in zip(held_out, pursued, strict=True):
        assert (held[rows] > 0).all()
        for c in (0, 1):
            of_class = sample.labels == c
            assert weights[sample.labels[rows] == c].sum() == pytest.approx(held[of_class].sum())
        assert (sample.labels[rows] == 1).sum() == 5


def test_few_held_out_rows_are_all_taken():
    held_out = np.array([[0.0, 1.0, 3.0, 0.0], [2.0, 0.0, 0.0, 0.0]])
    sample = Sample.of(Variables((4,)), [[0], [1], [2], [3]], [0, 1, 0, 1])
    rows = [(fold_rows.tolist(), weights.tolist()) for fold_rows, weights in held_out_rows(sample, held_out, 100)]
    assert rows == [([1, 2], [1.0, 3.0]), ([0], [2.0])]


# ---- in a classifier ------------------------------------------------------------------------------------------------


def noisy_table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    X["a"] += 2.5 * y
    return X, y


@pytest.mark.parametrize("strategy", ["table", "empirical", "hybrid"])
@pytest.mark.usefixtures("quick_hybrid")
def test_what_says_nothing_is_not_asked(strategy):
    X, y = noisy_table()
    clf = ip.InformationPursuitClassifier(strategy=strategy).fit(X, y)
    new, labels = noisy_table(400, seed=1)
    trace = clf.explain(new)
    assert trace.length.mean() < 3
    assert (trace.predictions == labels).mean() > 0.8
    assert trace.length.mean() == pytest.approx(clf.tuning_.n_questions, abs=1)
    assert (trace.predictions == labels).mean() == pytest.approx(clf.tuning_.accuracy, abs=0.07)


@pytest.mark.parametrize("informative", [True, False])
@pytest.mark.usefixtures("quick_hybrid")
@pytest.mark.filterwarnings("ignore:no column tells")
def test_a_rare_class_is_asked_about_where_answers_change_its_probability(informative):
    """The frequent class is the likelier one whatever the answers, so that accuracy alone would ask nothing."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, size=(1500, 4)).astype(str), columns=list("abcd"))
    y = rng.random(1500) < np.where((X["a"] == "1") & informative, 0.4, 0.02 if informative else 0.2)
    clf = ip.InformationPursuitClassifier().fit(X, y)
    trace = clf.explain(X[:200])
    if informative:
        assert (trace.length >= 1).all()
        assert (trace.queries[:, 0] == 0).all()
        assert clf.predict_proba(X[:200])[X["a"][:200] == "1", 1].mean() == pytest.approx(0.4, abs=0.1)
    else:
        assert trace.length.mean() < 2


@pytest.mark.usefixtures("quick_hybrid")
def test_numbers_that_must_be_compared_are_for_the_hybrid():
    """Whether the mean of two numbers is above a third: a finite model sees cells."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    y = X[:, 0] + X[:, 1] > 2 * X[:, 2]
    clf = ip.InformationPursuitClassifier().fit(X, y)
    assert set(clf.tuning_.candidates) == {"generative", "hybrid"}
    assert clf.tuning_.strategy == "hybrid"
    assert clf.model_ is None
    new = rng.uniform(size=(300, 3))
    assert clf.score(new, new[:, 0] + new[:, 1] > 2 * new[:, 2]) > 0.88


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (60, {}),
        (200, {"noise": ip.AnswerNoise(0.9)}),
        (200, {"exact_gains": True}),
    ],
    ids=["few rows", "noise", "exact gains"],
)
def test_where_the_hybrid_does_not_serve_it_is_not_tried(rows, options):
    X, y = noisy_table(rows)
    clf = ip.InformationPursuitClassifier(**options).fit(X, y)
    assert clf.model_ is not None
    assert clf.tuning_ is None or set(clf.tuning_.candidates) == {"generative"}


def test_texts_and_images_are_not_tuned():
    texts = ["a film trailer", "the senate votes", "the actor of a film", "a law of the senate"] * 30
    clf = ip.InformationPursuitClassifier().fit(texts, ["film", "news"] * 60)
    assert clf.tuning_ is None
    assert clf.pursuit_.stopping == ip.Confidence(0.01)


def test_folds_are_not_trained_on_what_they_hold_out():
    X, y = noisy_table(120)
    queries = ip.queries.columns(X)
    observed = queries.read(X)
    sample = Sample.of(queries.variables, observed.values, y, None, 2, observed.numbers)
    for n in (2, 4):
        held_out = sample.folds(n)
        np.testing.assert_allclose(held_out.sum(axis=0), sample.weights)
        assert ((held_out == 0) | (held_out == sample.weights)).all()


def test_where_nothing_is_asked_it_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(1500, 3)), rng.random(1500) < 0.2
    with pytest.warns(UserWarning, match="nothing is asked"):
        clf = ip.InformationPursuitClassifier(strategy="table").fit(X, y)
    assert clf.explain(X).length.max() == 0


@pytest.mark.usefixtures("quick_hybrid")
@pytest.mark.parametrize("strategy", ["auto", "hybrid"])
def test_a_class_prior_holds_before_and_after_answers(strategy):
    X, y = noisy_table(600)
    clf = ip.InformationPursuitClassifier(strategy=strategy).fit(X, y, class_prior={0: 0.9, 1: 0.1})
    assert "hybrid" in clf.tuning_.candidates
    assert clf.pursuit_.start().posterior[0, 1] == pytest.approx(0.1, abs=0.04)
    plain = ip.InformationPursuitClassifier(strategy=strategy).fit(X, y)
    row = pd.DataFrame([[1.25, 0, 0, 0, 0, 0]], columns=X.columns)  # as likely in one class as in the other
    assert plain.predict_proba(row)[0, 1] == pytest.approx(0.5, abs=0.2)
    assert clf.predict_proba(row)[0, 1] < plain.predict_proba(row)[0, 1] - 0.15


@pytest.mark.usefixtures("quick_hybrid")
def test_more_rows_than_allowed_are_drawn():
    X, y = noisy_table(1000)
    clf = ip.InformationPursuitClassifier(max_rows=200, n_jobs=1).fit(X, y)
    assert clf.tuning_.n_rows == 200
    assert clf.score(*noisy_table(400, seed=1)) > 0.8
    whole = ip.InformationPursuitClassifier(max_rows=None).fit(X, y)
    assert whole.tuning_.n_rows > 200
    with pytest.raises(ValueError, match="max_rows"):
        ip.InformationPursuitClassifier(max_rows=5).fit(X, y)
    with pytest.raises(ValueError, match="n_jobs"):
        ip.InformationPursuitClassifier(n_jobs=0).fit(X, y)
