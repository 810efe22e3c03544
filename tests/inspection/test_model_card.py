"""Model cards say true things: every number in one is that of the object."""

import platform
import re

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.estimator.card import OWNER, plain, write_model_card
from test_serialization import NAMES, marks, pictures, table, texts

HEADINGS = [
    "Model Details",
    "Intended Use",
    "Factors",
    "Metrics",
    "Evaluation Data",
    "Training Data",
    "Quantitative Analyses",
    "Ethical Considerations",
    "Caveats and Recommendations",
]
SHORT = ip.models.Training(epochs=1, batch_size=16, validation=0.2)
Classifier = ip.InformationPursuitClassifier


def fit(kind):
    """A classifier of each kind, with its inputs and labels."""
    if kind == "table":
        X, y = table()
        clf = Classifier(strategy=ip.models.latent_classes(2), patience=1)
    elif kind == "empirical":
        X, y = marks()
        clf = Classifier(ip.queries.concepts(NAMES), "empirical", stopping=ip.Confidence(0.05) | ip.MaxQueries(5))
    elif kind == "vae":
        X, y = marks()
        learner = ip.models.vae(ip.models.MLPArchitecture((4,)), 2, SHORT)
        clf = Classifier(ip.queries.concepts(NAMES), learner, ip.strategies.SMC(n_draws=30))
    elif kind == "words":
        X, y = texts()
        clf = Classifier(ip.queries.words(min_count=1), "table")
    else:
        X, y = pictures()
        clf = Classifier(ip.queries.patches((5, 6), size=2), ip.models.naive_bayes(1.0))
    return clf.fit(X, y), X, y


@pytest.fixture(scope="module", params=["table", "empirical", "vae", "words", "patches"])
def thing(request):
    return request.param, *fit(request.param)


def section(card, head):
    return re.search(rf"^## {head}\n\n(.*?)(?=\n## |\Z)", card, re.DOTALL | re.MULTILINE).group(1)


def test_the_headings_are_those_of_the_paper(thing):
    card = thing[1].model_card()
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == HEADINGS
    for head in HEADINGS:
        assert section(card, head).strip()
    for head in ("Intended Use", "Factors", "Evaluation Data", "Training Data", "Ethical Considerations"):
        assert OWNER in section(card, head)
    assert card.endswith("\n")


def test_rows_classes_and_shares_are_those_of_the_data(thing):
    _, clf, _, y = thing
    training = section(clf.model_card(), "Training Data")
    assert f"**Rows**, by their weight: {len(y)}" in training
    rows = re.findall(r"^\| (\S+) \| ([\d,]+) \| ([\d.]+) % \| ([\d.]+) % \|$", training, re.MULTILINE)
    assert [row[0] for row in rows] == [str(c) for c in clf.classes_]
    for c, (_, count, share, prior) in enumerate(rows):
        assert int(count) == (y == clf.classes_[c]).sum()
        assert float(share) == pytest.approx(100 * (y == clf.classes_[c]).mean(), abs=0.005)
        assert float(prior) == pytest.approx(100 * clf.model_.class_prior[c], abs=0.005)


def test_questions_are_counted_and_shown_in_words(thing):
    _, clf, _, _ = thing
    queries, details = clf.queries_, section(clf.model_card(), "Model Details")
    assert f"{len(queries):,} ({queries.kind}) about {len(queries.variables)} variables" in details
    shown = re.findall(r"^- (.*) \(.*\)$", details.split("### Questions")[1], re.MULTILINE)
    assert shown[0] == plain(queries.sentences[0])
    assert shown[-1] == plain(queries.sentences[-1])
    assert set(shown) <= {plain(sentence) for sentence in queries.sentences}


def test_the_model_the_posterior_and_the_rule(thing):
    kind, clf, _, _ = thing
    details = section(clf.model_card(), "Model Details")
    states = getattr(clf.model_, "n_states", None)
    expected = {
        "table": (f"table, {states} latent states of 4 variables", "**Posterior**: exact", "exact information gain"),
        "empirical": (
            f"empirical, {states} latent states of 9 variables",
            "**Posterior**: exact",
            "exact information gain",
        ),
        "vae": ("vae, mlp architecture, 2 latent dimensions, 9 variables", "sampled", "SMC(n_draws=30"),
        "words": (f"table, {states} latent states", "**Posterior**: exact"),
        "patches": (f"table, {states} latent states of 30 variables", "**Posterior**: exact"),
    }[kind]
    for fact in (*expected, f"`{clf.pursuit_.stopping}`"):
        assert fact in details
    assert ("patience of 1" in details) == (kind == "table")
    assert ("it is 95 % confident, or it has asked 5 questions" in details) == (kind == "empirical")
    for fact in (platform.python_version(), f"numpy {np.__version__}", f"torch {torch.__version__}", ip.__version__):
        assert fact in details


def test_who_may_have_the_training_data(thing):
    kind, clf, _, _ = thing
    ethics = section(clf.model_card(), "Ethical Considerations")
    if kind == "empirical":
        assert "contains its training data" in ethics
    else:
        assert "not the training examples" in ethics
        assert "contains" not in ethics


def test_the_card_comes_back_with_the_model(thing, tmp_path):
    clf = thing[1]
    clf.save(tmp_path)
    assert (tmp_path / "CARD.md").read_text() == clf.model_card() == ip.load(tmp_path).model_card()


# ---- calibration and training ---------------------------------------------------------------------------------------


def test_a_calibration_is_told_where_there_is_one():
    clf, _, _ = fit("words")
    assert "not calibrated" in section(clf.model_card(), "Metrics")
    assert "not calibrated" in section(clf.model_card(), "Caveats and Recommendations")
    assert "### Calibration" not in clf.model_card()


def test_a_pursuit_does_not_know_its_training():
    clf, _, _ = fit("words")
    assert "Not recorded with this model" not in clf.model_card()
    alone = write_model_card(clf.pursuit_)
    assert "Not recorded with this model" in section(alone, "Training Data")
    assert "| class | prior |" in alone


# ---- words ----------------------------------------------------------------------------------------------------------


def test_names_are_no_marks():
    y = np.array(["a|b", "*c*_d\n## Not a heading"] * 20)
    X = np.array([[0.0], [1.0]] * 20)
    clf = Classifier(ip.queries.concepts(["has | [x](y)"]), ip.models.naive_bayes(1.0)).fit(X, y)
    card = clf.model_card()
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == HEADINGS
    assert r"| a\|b | 20 | 50.00 % |" in card
    assert r"| \*c\*\_d \#\# Not a heading | 20 |" in card
    assert r"has \| \[x\](y)? (no / yes)" in card


def test_many_classes_are_cut():
    y = np.repeat(np.arange(30), np.arange(1, 31))
    X = (np.random.default_rng(0).random((len(y), 6)) < 0.5).astype(float)
    clf = Classifier(ip.queries.concepts(list("abcdef")), ip.models.naive_bayes(1.0)).fit(X, y)
    training = section(clf.model_card(), "Training Data")
    assert "Classes (30). The 20 most frequent:" in training
    assert re.findall(r"^\| (\d+) \|", training, re.MULTILINE) == [str(c) for c in range(10, 30)]
    assert "and 10 more." in section(clf.model_card(), "Intended Use")


def test_weights_are_told():
    X, y = marks()
    weights = np.where(y == 0, 2.5, 1.0)
    clf = Classifier(ip.queries.concepts(NAMES), ip.models.naive_bayes(1.0)).fit(X, y, sample_weight=weights)
    training = section(clf.model_card(), "Training Data")
    assert f"**Rows**, by their weight: {weights.sum():g}" in training
    assert f"| 0 | {2.5 * (y == 0).sum():g} |" in training


def test_what_has_no_card():
    with pytest.raises(TypeError, match="thing is dict"):
        write_model_card({})
    with pytest.raises(Exception, match="not fitted"):
        Classifier().model_card()


def test_the_card_of_a_calibrated_classifier_has_its_figures(tmp_path):
    """Of a real calibration, and the same again after saving and loading."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    clf = ip.InformationPursuitClassifier(strategy=ip.models.naive_bayes()).fit(X[::2], y[::2])
    clf.calibrate(X[1::2], y[1::2], target=0.8)
    found, card = clf.calibration_, clf.model_card()
    assert plain(str(found), 1000) in section(card, "Quantitative Analyses")
    assert "in 95 % of all cases" in card
    assert "not calibrated" not in card
    clf.save(tmp_path / "model")
    assert ip.load(tmp_path / "model").model_card() == card
