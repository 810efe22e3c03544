"""A classifier that says what is unlike training, and abstains; what people read of it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

import infopursuit as ip
from infopursuit.app.jobs import explain
from infopursuit.calibration.novelty import abstention_mask
from infopursuit.pursuit.explanation import Explanation


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.reshape(-1, 8, 8), y


@pytest.fixture(scope="module")
def clf(digits):
    X, y = digits
    patches = ip.queries.patches((8, 8), size=2, threshold=8)
    made = ip.InformationPursuitClassifier(
        patches, ip.models.latent_classes(4), stopping=ip.Confidence(0.05) & ip.MaxQueries(12)
    )
    return made.fit(X[:900], y[:900]).fit_novelty(X[900:1200])


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(0).integers(0, 17, size=(150, 8, 8))


def test_inputs_like_the_reference_are_left_alone_and_noise_is_not(clf, digits, noise):
    own, strange = clf.novelty_pvalues(digits[0][1200:]), clf.novelty_pvalues(noise)
    n = len(own)
    assert (own <= 0.05).mean() <= 0.05 + 4.5 * np.sqrt(0.05 * 0.95 * (1 / n + 1 / 300))
    assert (strange <= 0.05).mean() >= 0.9
    trace = clf.explain(noise)
    np.testing.assert_array_equal(trace.p_values, strange)
    np.testing.assert_array_equal(clf.novelty_pvalues(trace), strange)


def test_more_questions_detect_more(clf, digits, noise):
    few = ip.InformationPursuitClassifier(clf.queries_, clf.model_, stopping=ip.Confidence(0.05))
    few.fit(*(a[:900] for a in digits)).fit_novelty(digits[0][900:1200])
    assert (few.novelty_pvalues(noise) <= 0.05).mean() < (clf.novelty_pvalues(noise) <= 0.05).mean() - 0.1


def test_predict_abstains_where_it_is_told_to(clf, digits, noise):
    X = np.concatenate([digits[0][1200:1260], noise[:60]])
    plain, said = clf.predict(X), clf.predict(X, abstain="unsure")
    assert plain.dtype.kind == "i"
    assert set(plain.tolist()) <= set(range(10))
    trace = clf.explain(X)
    doubt = (trace.p_values <= 0.05) | (trace.posterior.max(axis=1) < 0.95)
    np.testing.assert_array_equal(said == "unsure", doubt)
    np.testing.assert_array_equal(said[~doubt], plain[~doubt])
    assert doubt[60:].mean() > 0.9 > 0.5 > doubt[:60].mean()
    assert clf.predict(X, abstain=-1).dtype.kind == "i"
    assert (clf.predict(X, abstain=-1) == -1).sum() == doubt.sum()
    strict = clf.predict(X, abstain=-1, alpha=0.3)
    assert (strict == -1).sum() > doubt.sum()
    with pytest.raises(ValueError, match="alpha=2"):
        clf.predict(X, abstain=-1, alpha=2)
    with pytest.raises(ValueError, match="abstain and class_prior"):
        clf.predict(X, abstain=-1, class_prior=np.full(10, 0.1))


def test_budgets_alone_ask_for_no_confidence(clf, digits):
    pursuit = replace(clf.pursuit_, novelty=None, stopping=ip.MaxQueries(1))
    trace = pursuit.run(digits[0][1200:1230])
    assert trace.p_values is None  # another rule, another reference
    assert not abstention_mask(trace, ip.MaxQueries(1), 0.05).any()
    assert abstention_mask(trace, ip.Confidence(0.01) | ip.MaxQueries(1), 0.05).all()


def test_without_a_reference_the_model_itself_is_drawn_from(digits):
    X, y = digits
    patches = ip.queries.patches((8, 8), size=2, threshold=8)
    clf = ip.InformationPursuitClassifier(patches, ip.models.naive_bayes(), stopping=ip.MaxQueries(4))
    clf.fit(X[:900], y[:900])
    assert clf.explain(X[:2]).p_values is None
    p = clf.novelty_pvalues(X[900:1000])
    assert clf.pursuit_.novelty.source == "model"
    assert len(clf.pursuit_.novelty) == 1000
    assert ((p > 0) & (p <= 1)).all()


def test_saved_and_loaded(clf, digits, tmp_path):
    clf.save(tmp_path)
    again = ip.load(tmp_path)
    X = digits[0][1200:1240]
    np.testing.assert_array_equal(again.novelty_pvalues(X), clf.novelty_pvalues(X))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert len(manifest["pursuit"]["novelty"]["surprises"]) == 300


def test_a_folder_with_a_damaged_reference_is_refused(clf, tmp_path):
    from infopursuit.saving import files as model_files

    clf.save(tmp_path)
    file = tmp_path / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["pursuit"]["novelty"]["surprises"] = [3.0, 1.0] * 20
    manifest["sha256"] = model_files.own_checksum(manifest)
    file.write_text(json.dumps(manifest))
    with pytest.raises(ip.ModelFormatError, match="reference"):
        ip.load(tmp_path)


def test_the_explanation_says_so_in_words_json_and_html(clf, digits, noise):
    strange = clf.explain(noise)
    trace = strange[int(np.argmin(strange.p_values))]
    assert trace.novel
    assert "Novelty warning (p-value 0.0033): such answers are improbable; do not trust the label." in str(trace)
    assert "do not trust the label" in ip.report.write(trace)
    again = Explanation.from_json(trace.to_json())
    assert again.p_value == trace.p_value
    own = clf.explain(digits[0][1200:1300])
    usual = own[int(np.argmax(own.p_values))]
    assert not usual.warning
    assert "do not trust" not in str(usual) + ip.report.write(usual)
    assert "out of distribution" in ip.report.write(own)


def test_explain_counts_them(clf, noise, tmp_path):
    np.savez(tmp_path / "noise.npz", x=noise)
    clf.save(tmp_path / "model")
    done = explain(tmp_path / "noise.npz", tmp_path / "model", tmp_path / "out")
    assert done.summary.n_novel == (clf.novelty_pvalues(noise) <= 0.05).sum()
