"""`clf.calibrate` as people use it: what it promises, what it refuses, what is kept in files."""

import json
from dataclasses import replace

import numpy as np
import pytest
from overconfident import repeated_answers, too_sure
from sklearn.base import clone

import infopursuit as ip
from infopursuit.calibration.risk_control import NotGuaranteed
from infopursuit.calibration.temperature import TemperatureScaling
from infopursuit.saving.files import own_checksum

HELD_OUT, LATER = repeated_answers(1500, seed=1), repeated_answers(1500, seed=2)


@pytest.fixture(scope="module")
def calibrated():
    return too_sure(stopping=ip.Confidence(0.05)).calibrate(*HELD_OUT, target=0.8, coverage=(0.9, 0.8))


def test_what_it_stops_is_as_often_right_as_was_asked_for(calibrated):
    X, y = LATER
    plain = too_sure(stopping=ip.Confidence(0.2) | ip.MaxQueries(16)).explain(X)
    boasts = plain.stop_reason == "confidence"
    assert (plain.predictions == y)[boasts].mean() < 0.77  # the control
    trace = calibrated.explain(X)
    stopped = trace.stop_reason == "confidence"
    assert stopped.mean() > 0.3
    assert (trace.predictions == y)[stopped].mean() >= 0.8
    found = calibrated.calibration_
    assert found.accuracy_bound >= 0.8
    assert found.calibrator.temperature > 1.5
    assert found.ece_after < found.ece_before / 2
    assert found.length_after > found.length_before
    assert stopped.mean() == pytest.approx(found.stopped, abs=0.06)
    assert trace.length.mean() == pytest.approx(found.length_after, abs=0.6)


def test_sets_cover_and_those_of_a_trace_end_with_those_at_stop(calibrated):
    X, y = LATER
    each, truth = np.arange(len(y)), np.searchsorted(calibrated.classes_, y)
    sizes = []
    for coverage in (0.9, 0.8):
        inside = calibrated.predict_set(X, coverage)
        assert inside[each, truth].mean() > coverage - 0.04
        sizes.append(inside.sum(axis=1).mean())
    assert sizes[1] < sizes[0] < 3
    np.testing.assert_array_equal(calibrated.predict_set(X), calibrated.predict_set(X, 0.9))
    trace = calibrated.explain(X)
    assert calibrated.prediction_sets(trace).shape == trace.posteriors.shape
    np.testing.assert_array_equal(calibrated.prediction_sets(trace)[:, -1], calibrated.predict_set(X))
    always = calibrated.prediction_sets(trace, anytime=True)
    assert always[each, :, truth].all(axis=1).mean() > 0.86
    np.testing.assert_array_equal(always[:, -1], calibrated.predict_set(X, anytime=True))


def test_a_session_says_which_classes_are_left(calibrated):
    trace = calibrated.explain(LATER[0][:1])
    session = calibrated.session()
    assert set(calibrated.session_set(session)) == set("abc")
    for k, (_, answer) in enumerate(trace.history(0), start=1):
        session.answer(answer)
        inside = calibrated.prediction_sets(trace, anytime=True)[0, k]
        assert set(calibrated.session_set(session)) == set(calibrated.classes_[inside])
        np.testing.assert_allclose(session.posterior, trace.posteriors[0, k], atol=1e-12)
    assert session.stop_reason == trace.stop_reason[0]
    assert calibrated.session_set(session)[0] == session.prediction


def test_another_class_prior_keeps_rule_and_calibrator(calibrated):
    trace = calibrated.explain(LATER[0][:20], class_prior=[0.2, 0.2, 0.6])
    assert (trace.posteriors[:, 0] == [0.2, 0.2, 0.6]).all()
    assert set(trace.stop_reason) <= {"confidence", "max_queries", "exhausted"}
    own = calibrated._pursuit_with([0.2, 0.2, 0.6])
    assert (own.calibrator, own.stopping) == (calibrated.pursuit_.calibrator, calibrated.pursuit_.stopping)


def test_calibrating_twice_is_the_same_and_fitting_again_forgets_it():
    clf = too_sure(stopping=ip.MaxQueries(6)).calibrate(*HELD_OUT, target=0.75)
    first = clf.calibration_
    assert first.max_queries == 6
    assert clf.calibrate(*HELD_OUT, target=0.75).calibration_ == first
    assert clf.stopping == ip.MaxQueries(6)
    assert clone(clf).stopping == ip.MaxQueries(6)
    clf.fit(*repeated_answers(300, seed=5))
    assert not hasattr(clf, "calibration_")
    assert clf.pursuit_.calibrator is None
    assert clf.pursuit_.stopping == ip.MaxQueries(6)
    with pytest.raises(ValueError, match="prediction sets need calibrate"):
        clf.predict_set(HELD_OUT[0])


def test_patience_is_kept():
    clf = too_sure(patience=1).calibrate(*HELD_OUT, target=0.75, max_queries=12)
    assert (clf.calibration_.patience, clf.pursuit_.patience) == (1, 1)
    trace = clf.explain(LATER[0])
    stopped = trace.stop_reason == "confidence"
    assert stopped.mean() == pytest.approx(clf.calibration_.stopped, abs=0.06)
    assert (trace.length - trace.settled_at)[stopped].min() == 1


def test_missing_answers_are_calibrated_too():
    X, y = HELD_OUT
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X.astype(float))
    clf = too_sure().calibrate(holes, y, target=0.75)
    later = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, LATER[0].astype(float))
    trace = clf.explain(later)
    stopped = trace.stop_reason == "confidence"
    assert stopped.mean() == pytest.approx(clf.calibration_.stopped, abs=0.06)
    assert trace.length.mean() == pytest.approx(clf.calibration_.length_after, abs=0.6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": 0.99}, r"target=0\.99 cannot be guaranteed .* about 0\.8"),
        ({"target": 1.0}, "target=1.0"),
        ({"delta": 0}, "delta=0"),
        ({"coverage": 1.5}, "coverage=1.5"),
        ({"target": 0.75, "coverage": 0.9999}, r"X has 1,500 rows; .* need 4\d,\d+"),
        ({"max_queries": 0}, "max_queries=0"),
        ({"max_queries": 2.5}, "max_queries=2.5"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(options, words):
    clf = too_sure()
    before = clf.pursuit_
    with pytest.raises(ValueError, match=words):
        clf.calibrate(*HELD_OUT, **options)
    assert clf.pursuit_ is before
    assert not hasattr(clf, "calibration_")


def test_the_highest_target_that_is_named_can_nearly_be_had():
    clf = too_sure()
    with pytest.raises(NotGuaranteed) as caught:
        clf.calibrate(*HELD_OUT, target=0.97)
    clf.calibrate(*HELD_OUT, target=caught.value.highest - 0.02)


def test_strange_labels_and_levels_are_refused(calibrated):
    with pytest.raises(ValueError, match=r"y has labels that fit did not see, such as \['d'\]"):
        too_sure().calibrate(HELD_OUT[0], np.where(HELD_OUT[1] == "a", "d", HELD_OUT[1]))
    with pytest.raises(ValueError, match=r"coverage=0\.95 was not calibrated, but 0\.9, 0\.8"):
        calibrated.predict_set(LATER[0], 0.95)
    with pytest.raises(ValueError, match="not fitted"):
        ip.InformationPursuitClassifier().calibrate(*HELD_OUT)


# ---- files ----------------------------------------------------------------------------------------------------------


def test_it_is_saved_and_loaded(calibrated, tmp_path):
    calibrated.save(tmp_path)
    again = ip.load(tmp_path)
    assert again.calibration_ == calibrated.calibration_
    assert again.stopping == calibrated.stopping == ip.Confidence(0.05)
    assert again.pursuit_.calibrator == calibrated.pursuit_.calibrator
    np.testing.assert_array_equal(again.predict_proba(LATER[0][:99]), calibrated.predict_proba(LATER[0][:99]))
    np.testing.assert_array_equal(again.predict_set(LATER[0][:99]), calibrated.predict_set(LATER[0][:99]))
    ip.save(calibrated.pursuit_, tmp_path / "pursuit")
    assert ip.load(tmp_path / "pursuit").calibrator == calibrated.pursuit_.calibrator


def test_what_is_not_calibrated_is_not_after_loading_either(tmp_path):
    too_sure().save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["pursuit"]["calibrator"] is None
    assert not hasattr(ip.load(tmp_path), "calibration_")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("pursuit", "calibrator", "temperature"), 0.0),
        (("pursuit", "calibrator", "temperature"), "hot"),
        (("pursuit", "calibrator"), {}),
        (("pursuit", "calibrator", "temperature"), 7.0),  # not what the calibration says
        (("classifier", "calibration", "epsilon"), 1.5),
        (("classifier", "calibration", "epsilon"), 0.5),
        (("classifier", "calibration", "target"), -1),
        (("classifier", "calibration", "n_tested"), "many"),
        (("classifier", "calibration", "length_after"), float("inf")),
        (("classifier", "calibration", "sets"), [{"coverage": 0.9, "after": [[2.0]], "anytime": [[0.5]]}]),
        (("classifier", "calibration", "sets"), [{"coverage": 0.9, "after": [[0.5]] * 2, "anytime": [[0.5]]}]),
        (("classifier", "calibration", "sets"), [{"coverage": 0.9}]),
        (("classifier", "stopping"), {"kind": "whenever"}),
    ],
)
def test_hostile_numbers_are_refused(calibrated, tmp_path, path, value):
    calibrated.save(tmp_path)
    file = tmp_path / "manifest.json"
    manifest = json.loads(file.read_text())
    entry = manifest
    for name in path[:-1]:
        entry = entry[name]
    entry[path[-1]] = value
    manifest["sha256"] = own_checksum(manifest)
    file.write_text(json.dumps(manifest))
    with pytest.raises(ip.ModelFormatError):
        ip.load(tmp_path)


def test_a_calibrator_is_no_parameter():
    assert "calibrator" not in too_sure().get_params()
    assert replace(too_sure().pursuit_, calibrator=TemperatureScaling(2.0)).calibrator == TemperatureScaling(2.0)
