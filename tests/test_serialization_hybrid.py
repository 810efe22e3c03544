"""A saved hybrid classifier: the same traces, what was tuned, and nothing believed without a check."""

import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy

import infopursuit as ip
from infopursuit.models.networks.masked import Training
from test_serialization import (
    _change,
    _drop,
    _put,
    assert_same,
    attempt,
    files_of,
    read,
    replace_one,
    scramble,
    table,
    write,
)

QUICK = ip.Hybrid(n_members=2, training=Training(max_steps=100, n_units=16))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A classifier whose rule was chosen on held-out rows, its folder and inputs."""
    X, y = table(150)
    clf = ip.InformationPursuitClassifier(strategy=QUICK).fit(X, y)
    folder = tmp_path_factory.mktemp("hybrid")
    clf.save(folder)
    return clf, folder, X


def test_what_comes_back_gives_the_same_trace(saved):
    clf, folder, X = saved
    again = ip.load(folder)
    assert_same(clf.explain(X), again.explain(X))
    np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X), rtol=0, atol=1e-9)
    assert again.session().question.name == clf.session().question.name
    assert again.model_ is None


def test_what_was_tuned_comes_back(saved):
    clf, folder, _ = saved
    again = ip.load(folder)
    assert again.tuning_ == clf.tuning_
    assert str(again.tuning_) == str(clf.tuning_)
    assert again.assessment_ == clf.assessment_
    assert clf.assessment_.n_rows == 150
    assert again.pursuit_.stopping == clf.tuning_.rule
    assert again.pursuit_.calibrator == clf.tuning_.calibrator
    assert again.stopping == "auto"


def test_what_came_back_can_be_fitted_again(saved):
    clf, folder, X = saved
    again = ip.load(folder)
    assert again.get_params()["strategy"] == "hybrid"
    again.set_params(strategy=QUICK).fit(X, clf.predict(X))
    assert again.tuning_.strategy == "hybrid"


def test_saving_what_came_back_writes_the_same_files(saved, tmp_path):
    _, folder, _ = saved
    ip.load(folder).save(tmp_path)
    assert files_of(tmp_path) == files_of(folder)  # the name of the tensors is their checksum
    one, two = read(folder)[0], read(tmp_path)[0]
    assert one["pursuit"] == two["pursuit"]
    assert one["classifier"] == two["classifier"]


def test_the_folder_holds_no_training_rows(saved):
    _, folder, _ = saved
    card = (folder / "CARD.md").read_text()
    assert "It holds model parameters, not the training examples." in card
    manifest, payload = read(folder)
    rows = 150
    assert all(rows not in array.shape for array in safetensors.numpy.load(payload).values())
    assert manifest["pursuit"]["belief"]["kind"] == "masked_networks"


def test_a_calibrated_one_comes_back(saved, tmp_path):
    clf, folder, X = saved
    again = ip.load(folder).calibrate(X, table(150)[1], target=0.3, delta=0.2, coverage=0.8)
    again.save(tmp_path)
    third = ip.load(tmp_path)
    assert third.calibration_ == again.calibration_
    np.testing.assert_array_equal(third.predict_set(X), again.predict_set(X))
    assert clf.tuning_ == third.tuning_  # it is still how the strategy was chosen


def test_another_process_loads_it_without_torch(saved):
    clf, folder, _ = saved
    code = (
        "import sys, infopursuit as ip\n"
        f"clf = ip.load({str(folder)!r})\n"
        "session = clf.session()\n"
        "print(session.question.name, 'torch' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == [clf.session().question.name, "False"]


# ---- altered files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_drop("class_w1"), "class_w1"),
        (_drop("offsets"), "offsets"),
        (_change("class_w1", _put((0, 0, 0), np.nan)), "class networks have weights that are not finite"),
        (_change("answer_b3", _put((0, 0, 0), np.inf)), "answer networks have weights that are not finite"),
        (_change("class_w2", lambda t: t[:, :-1].copy()), "class networks have weights of shapes"),
        (_change("class_w3", lambda t: t[:, :, :1].copy()), "class networks have weights of shapes"),
        (lambda t: {**t, **{n: t[n][:, :, :1].copy() for n in ("class_w3", "class_b3")}}, "classes has 2 labels"),
        (_change("answer_w3", lambda t: t[:, :, :-1].copy()), "answer networks have weights of shapes"),
        (_change("class_w1", lambda t: t[0].copy()), "class networks have weights of shapes"),
        (_change("class_w1", lambda t: t[:0].copy()), "class networks have weights of shapes"),
        (_change("offsets", lambda t: t[:-1].copy()), "offsets has shape"),
        (_change("offsets", lambda t: t + 1), "offsets has shape"),
        (_change("offsets", _put(1, 10**9)), "offsets has shape"),
        (_change("offsets", lambda t: t[:0].copy()), "offsets"),
        (_change("pieces", _put((0, 0), 99.0)), "pieces has shape"),
        (_change("pieces", _put((0, 1), np.nan)), "pieces has shape"),
        (_change("pieces", lambda t: t[:, :3].copy()), "pieces has shape"),
        (_change("pieces", lambda t: t[:-1].copy()), "networks have weights of shapes"),
        (_change("categories", _put((0, 0), -1)), "categories has shape"),
        (_change("categories", lambda t: t[0].copy()), "categories has shape"),
    ],
)
def test_tensors_that_were_exchanged(change, message, saved, tmp_path):
    manifest, payload = read(saved[1])
    write(tmp_path, manifest, safetensors.numpy.save(change(safetensors.numpy.load(payload))))
    with pytest.raises(ip.ModelFormatError, match=message):
        ip.load(tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("classifier", "tuning", "calibrator", "temperature"), -1.0, "temperature"),
        (("classifier", "tuning", "p_value"), 2.0, "p_value"),
        (("classifier", "assessment", "accuracy"), "high", "accuracy"),
        (("classifier", "assessment", "n_rows"), 0, "n_rows"),
        (("classifier", "assessment", "by_class", "recall"), [0.5], "different numbers of classes"),
        (("classifier", "assessment", "by_class", "auc"), 1.5, "auc"),
        (("classifier", "tuning", "candidates"), {"hybrid": "low"}, "candidates"),
        (("classifier", "tuning", "rule"), {"kind": "nonsense"}, "nonsense"),
        (("classifier", "tuning"), {"strategy": "hybrid"}, "candidates"),
        (("classifier", "max_questions"), 0, "max_questions"),
        (("classifier", "max_questions"), "many", "max_questions"),
        (("classifier", "class_count"), [60.0], "class_count"),
        (("classifier", "class_count"), [60.0, -1.0, 1.0], "class_count"),
        (("classifier", "class_count"), [0, 0, 0], "class_count"),
        (("classifier", "class_count"), ["1", "1", "1"], "class_count"),
        (("pursuit", "belief", "n_screened"), 0, "n_screened"),
        (("pursuit", "belief", "n_screened"), "all", "n_screened"),
        (("pursuit", "belief", "kind"), "exact", "model"),
        (("pursuit", "acquisition"), {"kind": "mutual_information"}, "mutual information"),
    ],
)
def test_settings_that_were_exchanged(path, value, message, saved, tmp_path):
    manifest, payload = read(saved[1])
    place = manifest
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    write(tmp_path, manifest, payload)
    with pytest.raises(ip.ModelFormatError, match=message):
        ip.load(tmp_path)


@pytest.mark.parametrize("case", range(20))
def test_random_damage_with_right_checksums_is_found_or_leaves_a_model_that_works(case, saved, tmp_path):
    _, folder, X = saved
    rng = np.random.default_rng(case)
    manifest, payload = read(folder)
    if rng.random() < 0.6:
        (tmp_path / manifest["tensors"]["file"]).write_bytes(payload)
        write(tmp_path, replace_one(rng, manifest))
    else:
        write(tmp_path, manifest, scramble(rng, payload))
    trace = attempt(tmp_path, X[:10])
    if isinstance(trace, ip.Trace):
        assert np.isfinite(trace.posteriors).all()
        np.testing.assert_allclose(trace.posterior.sum(axis=1), 1, atol=1e-5)
    else:
        assert trace is None or len(str(trace)) > 20
