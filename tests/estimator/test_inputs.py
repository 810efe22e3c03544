"""What may be given: labels of every kind, frames of every make, sparse matrices, texts, images, functions."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse

import infopursuit as ip

Classifier = ip.InformationPursuitClassifier
MIXTURE = ip.models.latent_classes(3)  # one candidate, so that nothing has to be chosen


def people(n=120, seed=0):
    """Columns of every kind and a label that depends on them."""
    rng = np.random.default_rng(seed)
    table = {
        "age": np.round(rng.uniform(20, 80, n)),
        "bill": rng.choice(["hooked", "dagger", "cone"], n),
        "smoker": rng.random(n) < 0.4,
    }
    y = np.where((table["age"] > 50) ^ (table["bill"] == "dagger"), "ill", "well")
    return table, y


def gaps(table):
    """The same with unknown values: NaN among numbers, None among texts."""
    holes = {name: list(column) for name, column in table.items()}
    for i in range(0, len(holes["age"]) - 1, 7):
        holes["age"][i], holes["bill"][i + 1] = None, None
    return holes


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas categories": lambda t: pd.DataFrame(t).astype({"bill": "category"}),
    "pandas arrow types": lambda t: pd.DataFrame(t).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda t: pl.DataFrame(t, strict=False),
    "polars categories": lambda t: pl.DataFrame(t, strict=False).with_columns(pl.col("bill").cast(pl.Categorical)),
    "pyarrow": pa.table,
    "pyarrow dictionary": lambda t: pa.table({**t, "bill": pa.array(t["bill"]).dictionary_encode()}),
}


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (["no", "yes"], "U"),
        ([False, True], "b"),
        ([-3, 7], "i"),
        ([1.0, 2.0], "f"),
        (["", "ß, 'quoted'"], "U"),
    ],
)
def test_labels_come_back_as_they_went_in(labels, dtype):
    X = np.array([[0.0], [1.0]] * 10)
    y = np.array(labels * 10)
    clf = Classifier().fit(X, y)
    assert clf.classes_.tolist() == sorted(labels)
    assert clf.predict(X).dtype.kind == dtype
    np.testing.assert_array_equal(clf.predict(X), y)
    assert clf.explain(X)[0].prediction == labels[0]


@pytest.mark.parametrize(
    "make", [list, np.array, pd.Series, pl.Series, pa.array, lambda y: pd.Series(y, dtype="category")]
)
def test_labels_of_every_make(make):
    X = np.array([[0.0], [1.0]] * 10)
    y = ["a", "b"] * 10
    assert Classifier().fit(X, make(y)).predict(X).tolist() == y


@pytest.mark.parametrize("model", [ip.models.naive_bayes(1.0), ip.models.empirical(ip.models.Flip())])
def test_the_name_of_a_class_means_nothing(model):
    """Renaming the classes renames the predictions and permutes the posteriors."""
    table, y = people()
    X = pd.DataFrame(table)
    one, two = (Classifier(strategy=model, stopping=ip.Confidence(0.01)) for _ in range(2))
    one.fit(X, np.where(y == "ill", "a", "b"))
    two.fit(X, np.where(y == "ill", "b", "a"))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X)[:, ::-1], atol=1e-9)


# ---- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize("holes", [False, True], ids=["whole", "gaps"])
def test_frames_of_every_make_are_the_same_table(make, holes):
    table, y = people()
    table = gaps(table) if holes else table
    first = Classifier(strategy=MIXTURE).fit(pd.DataFrame(table), y)
    other = Classifier(strategy=MIXTURE).fit(make(table), y)
    assert other.queries_.names == first.queries_.names
    np.testing.assert_allclose(other.predict_proba(make(table)), first.predict_proba(pd.DataFrame(table)), atol=1e-12)
    assert (other.predict(make(table)) == y).mean() > 0.85


def test_unknown_values_and_categories_new_since_training_are_not_known():
    table, y = people()
    clf = Classifier(strategy=MIXTURE, stopping=ip.MaxQueries(20)).fit(pd.DataFrame(table), y)
    some = pd.DataFrame(
        {"age": [np.nan, 30.0], "bill": ["flat", None], "smoker": pd.array([None, True], dtype="boolean")}
    )
    values = clf.queries_.observe(some)
    assert values[0].tolist() == [-1, -1, -1]
    assert (values[1] == -1).tolist() == [False, True, False]
    trace = clf.explain(some)
    np.testing.assert_allclose(trace.posterior[0], clf.model_.class_prior)  # nothing was learnt
    assert (trace.answers[0] == -1).all()
    assert trace[0].steps[0].said == "not known"


def test_arrays_and_frames_of_the_same_numbers_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] > 0
    X[3, 1] = np.nan
    array = Classifier(strategy=MIXTURE).fit(X, y)
    frame = Classifier(strategy=MIXTURE).fit(pd.DataFrame(X, columns=list("abc")), y)
    objects = Classifier(strategy=MIXTURE).fit(X.astype(object), y)
    listed = Classifier(strategy=MIXTURE).fit(X.tolist(), y.tolist())
    tensor = Classifier(strategy=MIXTURE).fit(torch.as_tensor(X), y)
    for other in (objects, listed, tensor):
        np.testing.assert_allclose(other.predict_proba(X), array.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(
        frame.predict_proba(pd.DataFrame(X, columns=list("abc"))), array.predict_proba(X), atol=1e-12
    )
    assert frame.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(array, "feature_names_in_")


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_a_sparse_table_of_counts_is_the_table_of_what_is_there(make):
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.5, (100, 8))
    y = np.where(counts[:, 2] > 0, "x", np.where(counts[:, 5] > 0, "y", "z"))
    clf = Classifier(strategy=MIXTURE).fit(make(counts), y)
    names = [f"feature {i}" for i in range(8)]
    dense = Classifier(queries=ip.queries.concepts(names), strategy=MIXTURE).fit((counts > 0).astype(int), y)
    one, two = clf.explain(make(counts)), dense.explain((counts > 0).astype(int))
    np.testing.assert_array_equal(one.queries, two.queries)
    np.testing.assert_array_equal(one.posteriors, two.posteriors)
    assert (one.predictions == y).mean() > 0.95


# ---- texts and images -----------------------------------------------------------------------------------------------


TEXTS = ["New trailer leaked", "The trailer of a film", "Senate votes again", "A vote in the senate", None] * 5
KINDS = ["film", "film", "news", "news", "news"] * 5


@pytest.mark.parametrize(
    "make",
    [list, tuple, lambda t: np.array(t, dtype=object), pd.Series, pl.Series, pa.array, lambda t: pa.chunked_array([t])],
)
def test_lists_of_texts_are_asked_for_words(make):
    clf = Classifier().fit(make(TEXTS), KINDS)
    assert clf.queries_.kind == "words"
    assert "trailer" in clf.queries_.names
    assert clf.predict(make(["another trailer", "voting in the senate"])).tolist() == ["film", "news"]
    assert not hasattr(clf, "n_features_in_")


def test_a_builder_says_how_the_words_are_chosen():
    clf = Classifier(queries=ip.queries.words(size=2, stem=False)).fit(TEXTS, KINDS)
    assert len(clf.queries_) == 2
    assert set(clf.queries_.names) == {"senate", "trailer"}


def squares(n=60, seed=0):
    """Noisy images of a full square on the left or on the right."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = np.zeros((n, 6, 8))
    for image, side in zip(X, y, strict=True):
        top = rng.integers(3)
        image[top : top + 3, 5 * side : 5 * side + 3] = 1
    return np.abs(X - (rng.random(X.shape) < 0.03)), y


@pytest.mark.parametrize("model", ["auto", "table", "empirical"])
def test_stacks_of_images_are_asked_for_patches(model):
    X, y = squares()
    clf = Classifier(strategy=model).fit(X, y)
    assert clf.queries_.kind == "patches"
    assert clf.queries_.shape == (6, 8)
    fresh, truth = squares(seed=1)
    assert clf.score(fresh, truth) > 0.95
    np.testing.assert_array_equal(clf.predict_proba(fresh.reshape(60, 48)), clf.predict_proba(fresh))
    np.testing.assert_array_equal(clf.predict_proba(fresh[..., None]), clf.predict_proba(fresh))


def test_grey_images_are_cut_at_half_of_the_brightest():
    X, y = squares()
    clf, grey = Classifier(strategy=MIXTURE).fit(X, y), Classifier(strategy=MIXTURE).fit((255 * X).astype(np.uint8), y)
    np.testing.assert_array_equal(grey.predict_proba(200 * X), clf.predict_proba(X))


def test_functions_ask_anything():
    words = ["ant", "bear", "crocodile", "dog", "elephant", "flamingo"] * 4
    y = ["short" if len(word) < 5 else "long" for word in words]
    qs = ip.queries.functions(
        {"has an a": lambda X: ["a" in x for x in X], "length": lambda X: [min(len(x), 5) - 3 for x in X]},
        choices={"length": ["three", "four", "more"]},
    )
    clf = Classifier(queries=qs).fit(words, y)
    assert clf.score(words, y) == 1
    dicts = [{"word": word} for word in words]
    qs = ip.queries.functions({"long": lambda item: len(item["word"]) > 4}, batched=False)
    assert Classifier(queries=qs).fit(dicts, y).score(dicts, y) == 1


# ---- weights, numbers, and the ways to the same prediction ----------------------------------------------------------


@pytest.mark.usefixtures("quick_hybrid")
@pytest.mark.parametrize("model", ["auto", "hybrid", "table", "empirical", ip.models.latent_classes(3)])
def test_a_weight_is_a_repetition(model):
    table, y = people(60)
    X = pd.DataFrame(gaps(table))
    times = np.random.default_rng(2).integers(0, 4, 60)
    weighted = Classifier(strategy=model).fit(X, y, sample_weight=times)
    repeated = Classifier(strategy=model).fit(X.iloc[np.repeat(np.arange(60), times)], np.repeat(y, times))
    assert weighted.queries_.names == repeated.queries_.names
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-9)


def test_a_class_whose_rows_all_have_no_weight_is_kept_and_improbable():
    table, y = people()
    X = pd.DataFrame(table)
    for model in ("table", "empirical"):
        clf = Classifier(strategy=model).fit(X, y, sample_weight=(y == "ill").astype(float))
        assert clf.classes_.tolist() == ["ill", "well"]
        posterior = clf.predict_proba(X)
        assert np.isfinite(posterior).all()
        assert (posterior[:, 0] > 0.5).all()


@pytest.mark.parametrize("model", ["table", "empirical", ip.models.naive_bayes(1.0)])
def test_single_and_double_precision_agree(model):
    X, y = squares(40)
    single, double = (Classifier(strategy=model, dtype=d, device="cpu").fit(X, y) for d in ("float32", "float64"))
    assert single.model_.dtype == np.float32
    assert double.model_.dtype == np.float64
    fresh, _ = squares(30, seed=1)
    one, two = (clf.explain(fresh) for clf in (single, double))
    np.testing.assert_array_equal(one.queries[:, 0], two.queries[:, 0])
    np.testing.assert_allclose(one.posterior, two.posterior, atol=1e-4)


def test_all_ways_to_a_prediction_agree():
    table, y = people()
    X = pd.DataFrame(gaps(table))
    clf = Classifier(strategy=MIXTURE).fit(X, y)
    trace = clf.explain(X)
    np.testing.assert_array_equal(clf.predict_proba(X), trace.posterior)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[trace.posterior.argmax(axis=1)])
    np.testing.assert_allclose(trace.posterior.sum(axis=1), 1)
    assert clf.score(X, y) == (clf.predict(X) == y).mean()
    assert [explanation.prediction for explanation in trace] == clf.predict(X).tolist()


@pytest.mark.parametrize("class_prior", [None, {"ill": 0.9, "well": 0.1}])
def test_a_session_that_hears_the_same_answers_is_the_same_pursuit(class_prior):
    table, y = people()
    X = pd.DataFrame(gaps(table))
    clf = Classifier(strategy=MIXTURE, patience=1).fit(X, y)
    trace = clf.explain(X, class_prior=class_prior)
    for i in range(0, 30, 3):
        session = clf.session(class_prior=class_prior)
        while session.question is not None:
            value = X[session.question.name][i]
            session.answer(None if pd.isna(value) else value)
        assert session.history == trace.history(i)
        assert session.stop_reason == trace.stop_reason[i]
        np.testing.assert_allclose(session.posterior, trace.posterior[i], atol=1e-9)
        assert session.prediction == trace.predictions[i]


def test_a_session_may_begin_with_what_is_known():
    table, y = people()
    clf = Classifier(strategy=MIXTURE).fit(pd.DataFrame(table), y)
    session = clf.session([("bill", "dagger"), ("smoker", None)])
    assert len(session.history) == 2
    np.testing.assert_allclose(session.posterior, clf.pursuit_.believe(session.history))


def test_a_model_that_is_ready_is_used_as_it_is():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.2], [0.1, 0.2]])
    clf = Classifier(queries=ip.queries.concepts(["wings", "red"]), strategy=model).fit(
        [[1, 0], [0, 1]] * 3, ["bird", "cat"] * 3
    )
    assert clf.model_ is model
    assert clf.selection_ == []
    np.testing.assert_allclose(clf.predict_proba([[1, np.nan]]), [[0.9, 0.1]])


def test_the_rules_and_patience_reach_the_pursuit():
    table, y = people()
    X = pd.DataFrame(table)
    clf = Classifier(strategy=MIXTURE, stopping=ip.MaxQueries(2)).fit(X, y)
    assert (clf.explain(X).length == 2).all()
    patient = Classifier(strategy=MIXTURE, stopping=ip.Confidence(0.2), patience=2).fit(X, y)
    plain = Classifier(strategy=MIXTURE, stopping=ip.Confidence(0.2)).fit(X, y)
    assert patient.explain(X).length.mean() > plain.explain(X).length.mean()
    estimated = Classifier(strategy=MIXTURE, exact_gains=False).fit(X, y).explain(X)
    assert not estimated.exact_gains
    limited = Classifier(strategy=MIXTURE, stopping=ip.Confidence(0.01), max_questions=2).fit(X, y)
    assert limited.pursuit_.stopping == ip.Confidence(0.01) | ip.MaxQueries(2)
    assert limited.tuning_ is None


def test_the_rule_is_chosen_on_held_out_rows_where_there_are_some():
    table, y = people()
    X = pd.DataFrame(table)
    clf = Classifier(strategy=MIXTURE, max_questions=2).fit(X, y)
    assert clf.pursuit_.stopping == clf.tuning_.rule
    assert clf.pursuit_.calibrator == clf.tuning_.calibrator
    assert clf.explain(X).length.max() <= 2
    few = [0, 1, 2, 3]  # too few of each class to hold any out
    rare = Classifier(strategy=MIXTURE).fit(X.iloc[few], ["a", "b", "a", "b"])
    assert rare.tuning_ is None
    assert rare.pursuit_.stopping == ip.Confidence(0.01)


@pytest.mark.parametrize("how", [{"levels": 4}, {"channels": 3, "levels": 3}, {"channels": 3}])
@pytest.mark.parametrize("strategy", ["auto", "empirical"])
def test_grey_and_colour_images_are_learnt(how, strategy):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = np.clip(rng.normal(0.5, 0.15, (120, 6, 6, 3)), 0, 1)
    X[y == 1, 2:4, 2:4, 0] += 0.4
    X = X.clip(0, 1) if "channels" in how else X[..., 0].clip(0, 1)
    clf = ip.InformationPursuitClassifier(ip.queries.patches(size=1, **how), strategy).fit(X[:80], y[:80])
    trace = clf.explain(X[80:])
    assert (trace.predictions == y[80:]).mean() > 0.85
    again = ip.Explanation.from_json(trace[0].to_json())
    np.testing.assert_array_equal(again.revealed(), trace[0].revealed())
