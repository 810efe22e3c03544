"""The evaluation of a classifier: numbers that can be checked by hand, and the same ones found in another way."""

import json
from dataclasses import asdict

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.evaluation.evaluate import (
    BLACK_BOX,
    MAP,
    PURSUIT,
    TREE,
    epsilons,
    evaluate,
    map_using_q,
    stops_of,
)
from infopursuit.evaluation.measures import confidence_curve, point_of, stops_at
from infopursuit.models import VAE, MLPArchitecture
from infopursuit.models.networks.autoencoder import log_evidence
from worlds import KINDS, world_of

NAMES = ["wings", "red", "loud"]


def birds(stopping, **options):
    """A world in which one answer gives 0.9, and two that agree 81/82."""
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5, 0.9], [0.1, 0.5, 0.1]])
    return ip.generative_pursuit(
        model, ip.queries.concepts(NAMES), stopping=stopping, classes=["bird", "rock"], **options
    )


X = [[1, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]]
Y = ["bird", "rock", "rock", "bird", "rock"]


def test_numbers_by_hand():
    result = evaluate(birds(ip.Confidence(0.05)), X, Y)
    # inputs 0, 1, 2 and 4: two answers that agree; input 3: two that do not, then the third, then none is left
    row = result.rows[0]
    assert (row.name, row.accuracy, row.length, row.n_inputs) == (PURSUIT, 0.8, (2 * 4 + 3) / 5, 5)
    assert result.lengths.counts == ((2, 4), (3, 1))
    found = result.lengths
    assert (found.min, found.q25, found.median, found.q75, found.max) == (2, 2, 2, 2, 3)
    assert [(stop.name, stop.n_inputs, stop.accuracy, stop.length) for stop in result.stops] == [
        ("confidence", 4, 0.75, 2.0),
        ("exhausted", 1, 1.0, 3.0),  # one half each, and ties go to the first class
    ]
    sure = 81 / 82
    assert [(b.low, round(b.confidence, 9), b.accuracy, b.n_inputs) for b in result.calibration.bins] == [
        (0.5, 0.5, 1.0, 1),
        (0.95, round(sure, 9), 0.75, 4),
    ]
    assert result.calibration.expected_calibration_error == pytest.approx((0.5 + 4 * (sure - 0.75)) / 5)
    brier = [2 * (1 - sure) ** 2, 2 * sure**2, 2 * (1 - sure) ** 2, 2 * 0.5**2, 2 * (1 - sure) ** 2]
    assert result.calibration.brier == pytest.approx(np.mean(brier))
    assert (result.n_inputs, result.n_queries, result.n_classes, len(result.rows)) == (5, 3, 2, 2)
    assert result.rows[1].name == MAP
    assert (result.rows[1].accuracy, result.rows[1].length) == (0.8, None)


def test_the_curve_begins_without_questions_and_ends_with_the_pursuit():
    result = evaluate(birds(ip.Confidence(0.05)), X, Y)
    first, last = result.curve[0], result.curve[-1]
    assert (first.epsilon, first.length, first.accuracy) == (0.5, 0.0, 0.4)
    assert (last.epsilon, last.length, last.accuracy) == (0.05, result.rows[0].length, result.rows[0].accuracy)
    lengths = [point.length for point in result.curve]
    assert lengths == sorted(lengths)
    assert 1.0 in lengths  # epsilons from 0.1 on stop after one answer


@pytest.mark.parametrize("stopping", [ip.MaxQueries(2), ip.InformationGain(0.01), ip.Confidence(0.0)])
def test_a_curve_of_pursuits_that_do_not_stop_by_confidence(stopping):
    result = evaluate(birds(stopping), X, Y)
    assert result.curve[0].length == 0.0
    assert result.curve[-1].length == result.rows[0].length
    assert min(point.epsilon for point in result.curve) in (0.001, 0.0)


@pytest.mark.parametrize("patience", [0, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_the_own_point_of_the_curve_is_the_row_also_with_patience_and_gaps(seed, patience):
    world, rng = world_of(seed, kind="yes_no", zeros=False)
    values = world.inputs(rng, 60, unknown=0.3)
    labels = rng.integers(0, world.model.n_classes, 60)
    pursuit = ip.generative_pursuit(world.model, world.queries, stopping=ip.Confidence(0.1), patience=patience)
    trace = pursuit.run_values(values)
    assert confidence_curve(trace, labels, [0.1], patience)[0] == point_of(
        0.1, trace.predictions == labels, trace.length
    )
    early = ip.generative_pursuit(
        world.model, world.queries, stopping=ip.Confidence(0.3), patience=patience
    ).run_values(values)
    assert stops_at(trace, 0.3, patience).tolist() == early.length.tolist()


def test_epsilons_fall_to_the_last():
    for last, n_classes in ((0.01, 2), (0.001, 10), (0.3, 200), (0.0, 3)):
        found = epsilons(last, n_classes)
        assert found == sorted(set(found), reverse=True)
        assert (found[0], found[-1]) == (1 - 1 / n_classes, last)
        assert len(found) >= 9
    assert epsilons(0.7, 2) == [0.7]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_map_is_the_posterior_after_all_answers(seed, kind):
    world, rng = world_of(seed, kind=kind, zeros=bool(seed % 2))
    values = world.inputs(rng, 20, unknown=0.2)
    found = map_using_q(world.pursuit(), values)
    for i in range(20):
        history = [(q, world.truth.answer(q, values[i])) for q in range(len(world.queries))]
        impossible = world.truth.probability(history) == 0
        wanted = world.truth.posterior([] if impossible else history)
        np.testing.assert_allclose(found[i], wanted, atol=1e-9)


def test_map_knows_only_what_the_queries_tell():
    queries = ip.queries.patches((1, 3), size=(1, 2), stride=2)  # the last pixel is under no patch
    model = ip.models.TableModel([0.5, 0.5], None, [[0.6, 0.5, 1.0], [0.4, 0.5, 0.0]])
    found = map_using_q(ip.generative_pursuit(model, queries), [[1, 0, 0], [1, 0, 1]])
    np.testing.assert_allclose(found, [[0.6, 0.4]] * 2)


class Vowels(ip.queries.QuerySet):
    """One variable with three values, of which a query tells two apart."""

    kind = "vowels"

    def __init__(self):
        super().__init__(["is it an a"], sizes=[3], variables=[[0]], cells=[[[1, 0, 0]]])

    def observe(self, X):
        return np.asarray(X)

    def to_spec(self):
        return {}


def test_map_where_queries_tell_a_part_of_an_variable():
    model = ip.models.TableModel([0.5, 0.5], None, [[[[0.2, 0.8, 0.0]]], [[[0.4, 0.0, 0.6]]]])
    found = map_using_q(ip.generative_pursuit(model, Vowels()), [[0], [1], [2]])
    np.testing.assert_allclose(found, [[1 / 3, 2 / 3], [0.8 / 1.4, 0.6 / 1.4], [0.8 / 1.4, 0.6 / 1.4]])


def test_answers_that_cannot_be_leave_map_at_the_prior():
    model = ip.models.TableModel([0.7, 0.3], None, [[1.0], [1.0]])
    np.testing.assert_allclose(
        map_using_q(ip.generative_pursuit(model, ip.queries.concepts(["a"])), [[0]]), [[0.7, 0.3]]
    )


def test_map_of_many_states_looks_at_the_first_inputs(monkeypatch):
    from infopursuit.evaluation import evaluate as module

    monkeypatch.setattr(module, "WORK", 0)
    monkeypatch.setattr(module, "MIN_INPUTS", 3)
    result = evaluate(birds(ip.Confidence(0.05)), X, Y)
    assert (result.rows[1].n_inputs, result.rows[1].note) == (3, "on the first 3 inputs")
    assert "* MAP using Q: on the first 3 inputs" in str(result)


def test_a_vae_is_evaluated_with_its_encoder():
    model = VAE((2,) * 4, [0.3, 0.7], MLPArchitecture((8,)), latent_dim=2, seed=1)
    queries = ip.queries.concepts(list("abcd"))
    pursuit = ip.generative_pursuit(model, queries, ip.strategies.SMC(n_draws=200), ip.MaxQueries(2))
    values = np.random.default_rng(0).integers(0, 2, size=(12, 4))
    whole = log_evidence(model, values, seed=0)
    np.testing.assert_allclose(
        map_using_q(pursuit, values), np.exp(whole - np.logaddexp.reduce(whole, axis=1)[:, None]), atol=1e-12
    )
    result = evaluate(pursuit, values, np.array([0, 1] * 6))
    assert result.rows[0].length == 2.0
    assert "Gains were estimated" in str(result) or result.exact_gains


def xor(n, seed):
    """Two answers that tell nothing alone, and one that tells nothing at all."""
    X = np.random.default_rng(seed).integers(0, 2, size=(n, 3))
    return X, np.where(X[:, 0] ^ X[:, 1], "odd", "even")


def test_baselines_are_fitted_to_the_answers_of_the_training_inputs():
    X_train, y_train = xor(300, 0)
    X_test, y_test = xor(50, 1)
    clf = ip.InformationPursuitClassifier(ip.queries.concepts(NAMES), strategy=ip.models.naive_bayes()).fit(
        X_train, y_train
    )
    result = evaluate(clf, X_test, y_test, X_train=X_train, y_train=y_train)
    rows = {row.name: row for row in result.rows}
    assert list(rows) == [PURSUIT, MAP, TREE, BLACK_BOX]
    assert rows[PURSUIT].accuracy < 0.8  # naive Bayes cannot represent it
    assert (rows[TREE].accuracy, rows[TREE].length) == (1.0, 2.0)
    assert rows[BLACK_BOX].accuracy == 1.0
    without = evaluate(clf, X_test, y_test)
    assert [row.name for row in without.rows] == [PURSUIT, MAP]
    for found in (result, without):
        text = json.dumps(asdict(found), allow_nan=False)
        assert json.loads(text)["rows"][0]["accuracy"] == rows[PURSUIT].accuracy


def test_the_text_fits_a_terminal_and_says_what_was_found():
    text = str(evaluate(birds(ip.Confidence(0.05) | ip.MaxQueries(20)), X, Y))
    assert max(len(line) for line in text.splitlines()) < 80
    for words in (
        "Information Pursuit    80.00 %   37.6 to 96.4 %   2.20 ± 0.35",
        "MAP using Q            80.00 %   37.6 to 96.4 %         all 3",
        "the confidence is high enough   80.0 %     75.0 %         2.0",
        "no question is left             20.0 %    100.0 %         3.0",
        "95 to 99 %",
        "as it is",
        "points overconfident",
    ):
        assert words in text, words


def test_rules_in_words():
    rule = ip.Confidence(0.02) | ip.InformationGain(0.001) | ip.MaxQueries(1)
    told = rule.describe().split(", or ")
    assert len(told) == 3
    assert all(words in part for words, part in zip(("98 %", "0.001 nats", "1 question"), told, strict=True))


def test_reasons_are_ordered_by_how_often_they_occur():
    trace = birds(ip.Confidence(0.05)).run(X + X[3:4] * 9)
    assert [stop.name for stop in stops_of(trace, np.ones(14, dtype=bool))] == ["exhausted", "confidence"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"y": Y[:3]}, r"y has shape \(3,\); expected \(5,\)"),
        (
            {"y": [*Y[:4], "cat"]},
            r"y\[4\] is 'cat', which is no class .* are 'bird', 'rock'",
        ),
        ({"X": np.zeros((0, 3)), "y": []}, "X has no rows"),
        ({"X_train": X}, "X_train and y_train go together"),
        ({"X_train": X, "y_train": [*Y[:4], "cat"]}, r"y_train\[4\] is 'cat'"),
    ],
)
def test_what_does_not_fit_is_refused(change, named):
    arguments = {"X": X, "y": Y, **change}
    with pytest.raises(ValueError, match=named):
        evaluate(birds(ip.Confidence(0.05)), arguments.pop("X"), arguments.pop("y"), **arguments)


def test_only_fitted_classifiers_are_evaluated():
    with pytest.raises(ValueError, match="not fitted yet"):
        evaluate(ip.InformationPursuitClassifier(), X, Y)
    with pytest.raises(TypeError, match="classifier is str"):
        evaluate("model", X, Y)
