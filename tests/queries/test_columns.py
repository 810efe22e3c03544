"""Columns of tables, and the thresholds of their numbers."""

import datetime as dt
import json
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from infopursuit.queries import Columns
from infopursuit.queries import columns as any_columns
from infopursuit.queries.columns import MAX_LABEL
from infopursuit.queries.numbers import choose_thresholds, format_number, simplest_numbers

columns = partial(any_columns, numbers="thresholds")  # numbers that are asked whole are in test_numbers.py

BIRDS = {
    "bill shape": ["dagger", "cone", None, "hooked", "cone"],
    "age": [1.0, 2.0, 3.0, None, 5.0],
    "legs": [2, 2, 2, 2, 4],
    "migrates": [True, False, None, True, True],
    "seen": [dt.date(2019, 5, 1), dt.date(2020, 3, 4), None, dt.date(2020, 3, 9), dt.date(2021, 1, 1)],
}
VALUES = [[1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [-1, 2, 0, -1, -1], [2, -1, 0, 1, 2], [0, 3, 1, 1, 3]]


def as_objects(data):
    return np.array(list(zip(*data.values(), strict=True)), dtype=object)


def as_pandas_nullable(data):
    return pd.DataFrame(data).convert_dtypes().astype({"bill shape": "category", "seen": "datetime64[us]"})


def as_arrow_dictionary(data):
    table = pa.table(data)
    return table.set_column(0, "bill shape", table["bill shape"].dictionary_encode())


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, as_pandas_nullable, pl.DataFrame, pa.table, as_arrow_dictionary, as_objects],
    ids=lambda f: f.__name__,
)
def test_all_kinds_of_tables_give_the_same_queries_and_values(make):
    options = {"names": list(BIRDS)} if make is as_objects else {}
    qs = columns(make(BIRDS), **options)
    assert qs.names == (
        "bill shape",
        *("age > 1", "age > 2", "age > 3"),
        "legs > 2",
        "migrates",
        *("seen > 2020-01-01", "seen > 2020-03-06", "seen > 2020-08-01"),
    )
    assert qs.observe(make(BIRDS)).tolist() == VALUES


def test_what_is_asked_reads_well():
    qs = columns(pd.DataFrame(BIRDS))
    asked = {query.name: query for query in qs}
    assert asked["bill shape"].sentence == "Which bill shape?"
    assert asked["bill shape"].choices == ("cone", "dagger", "hooked")
    assert asked["age > 2"].sentence == "Is age greater than 2?"
    assert asked["legs > 2"].choices == ("no", "yes")
    assert asked["migrates"].sentence == "migrates?"
    assert qs[len(qs) - 1].sentence.startswith("Is seen later than 20")
    assert qs.say(0, (1,)) == "bill shape: dagger"


def test_several_thresholds_of_one_column_share_one_variable():
    qs = columns(np.arange(8.0)[:, None])
    assert len(qs) == 7
    assert len(qs.variables) == 1
    assert set(qs.query_variables.ravel()) == {0}
    np.testing.assert_array_equal(qs.answers([[2.5]])[0, :, 0], [1, 1, 1, 0, 0, 0, 0])


def test_yes_no_splits_categories_of_one_variable():
    qs = columns(pd.DataFrame({"bill shape": BIRDS["bill shape"], "sex": list("mffmm")}), yes_no=True)
    assert qs.names == ("bill shape is cone", "bill shape is dagger", "bill shape is hooked", "sex is m")
    assert qs.variables.sizes == (3, 2)
    assert qs[1].sentence == "Is bill shape dagger?"
    assert qs.say(1, (0,)) == "bill shape is dagger: no"
    np.testing.assert_array_equal(
        qs.answers(pd.DataFrame({"bill shape": ["dagger"], "sex": ["f"]}))[0, :, 0], [0, 1, 0, 0]
    )


def test_categories_that_are_yes_and_no_already_are_asked_by_the_name():
    for yes_no in (False, True):
        (query,) = columns(pd.DataFrame({"smoker": ["Yes", "No"]}), yes_no=yes_no)
        assert (query.name, query.sentence, query.choices) == ("smoker", "smoker?", ("No", "Yes"))


def test_unseen_category_is_unknown():
    qs = columns(pd.DataFrame({"colour": ["red", "blue"]}))
    assert qs.observe(pd.DataFrame({"colour": ["blue", "green", "", None]})).tolist() == [[0], [-1], [-1], [-1]]


def test_a_yes_no_column_that_meets_another_number_is_unknown():
    assert columns(np.array([[0.0], [1.0]])).observe([[1], [2], [0.5], [np.nan]]).tolist() == [[1], [-1], [-1], [-1]]


def test_rare_categories_share_an_answer_and_new_ones_do_not():
    frame = pd.DataFrame({"city": ["Rome", "Rome", "Oslo", "Oslo", "Bern", "Kyiv"]})
    qs = columns(frame, max_categories=3)
    assert qs[0].choices == ("Oslo", "Rome", "other")
    assert qs.observe(pd.DataFrame({"city": ["Kyiv", "Bern", "Rome", "Lima"]})).tolist() == [[2], [2], [1], [-1]]
    clash = columns(pd.DataFrame({"city": ["other", "other", "Oslo", "Oslo", "Bern", "Kyiv"]}), max_categories=3)
    assert clash[0].choices == ("Oslo", "other", "all others")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"size": pd.Categorical(["S", "L", "M", None], categories=["S", "M", "L", "XL"], ordered=True)}),
        pl.DataFrame({"size": pl.Series(["S", "L", "M", None], dtype=pl.Enum(["S", "M", "L", "XL"]))}),
    ],
    ids=["pandas", "polars"],
)
def test_ordered_categories_keep_their_order(frame):
    for table in (frame, frame.to_arrow()) if hasattr(frame, "to_arrow") else (frame,):
        qs = columns(table)
        assert qs[0].choices == ("S", "M", "L")
        assert qs.observe(table)[:, 0].tolist() == [0, 2, 1, -1]


def test_categories_that_are_numbers_are_sorted_as_numbers():
    assert columns(pd.DataFrame({"grade": ["10", "9", "2"]}))[0].choices == ("2", "9", "10")


def test_numbers_that_numpy_made_into_text_are_numbers():
    X = np.array([["red", 1.5], ["blue", 2.5], ["red", "nan"]])
    qs = columns(X)
    assert qs.names == ("x0", "x1 > 2")
    assert qs.observe(X).tolist() == [[1, 0], [0, 1], [1, -1]]
    assert columns([["red", 1.5], ["blue", 2.5]]).names == ("x0", "x1 > 2")


def test_numbers_among_categories_and_decimals_among_numbers():
    frame = pd.DataFrame({"mixed": ["a", 1, 2.5], "money": [Decimal("1.10"), Decimal("2.30"), None]}, dtype=object)
    qs = columns(frame)
    assert qs[0].choices == ("1", "2.5", "a")
    assert qs.names[1] == "money > 2"
    assert qs.observe(pd.DataFrame({"mixed": [1.0, "1"], "money": ["2.2", 1]})).tolist() == [[0, 1], [0, 0]]


def test_frames_are_matched_by_name_and_arrays_by_position():
    frame = pd.DataFrame({"a": [0.0, 5.0], "b": ["x", "y"]})
    qs = columns(frame)
    expected = [[0, 0], [1, 1]]
    assert qs.observe(frame[["b", "a"]].assign(c=1)).tolist() == expected
    assert qs.observe(pl.from_pandas(frame)).tolist() == expected
    assert qs.observe(frame.to_numpy()).tolist() == expected
    with pytest.raises(ValueError, match="X has no column 'b'; its columns are 'a'"):
        qs.observe(frame[["a"]])
    with pytest.raises(ValueError, match="X has 3 columns; expected 2 as in training: 'a', 'b'"):
        qs.observe(np.zeros((1, 3)))


def test_a_set_made_of_an_array_reads_frames_by_position():
    qs = columns(np.array([[0.0, 1.0], [5.0, 0.0]]))
    assert qs.observe(pd.DataFrame({"p": [9.0], "q": [1.0]})).tolist() == [[1, 1]]


def test_constant_columns_are_left_out_with_one_warning():
    frame = pd.DataFrame({"a": [1, 1], "b": [1, 2], "c": [None, None], "d": ["x", None]})
    with pytest.warns(UserWarning, match="fewer than two different known values: 'a', 'c', 'd'") as caught:
        qs = columns(frame)
    assert len(caught) == 1
    assert qs.names == ("b > 1",)
    assert len(qs.variables) == 1
    assert qs.observe(frame[["b"]]).tolist() == [[0], [1]]
    assert qs.observe(frame.to_numpy()).tolist() == [[0], [1]]


def test_rows_of_no_weight_are_not_seen():
    frame = pd.DataFrame({"a": [1.0, 2.0, 900.0], "b": ["x", "y", "z"]})
    qs = columns(frame, sample_weight=[1, 1, 0])
    assert qs.to_spec() == columns(frame[:2]).to_spec()


@given(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.integers(2, 4))
def test_a_weight_is_the_same_as_a_repetition(counts, bins):
    frame = pd.DataFrame({"n": [0.5, 1.5, 1.5, 3.0, 7.0, 8.0], "c": list("abbcde")})
    repeated = frame.loc[np.repeat(frame.index, counts)]
    if repeated["n"].nunique() < 2 or repeated["c"].nunique() < 2:
        return
    options = {"bins": bins, "max_categories": 3}
    assert columns(frame, sample_weight=counts, **options).to_spec() == columns(repeated, **options).to_spec()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30, unique=True))
def test_a_spec_goes_through_json_and_back_exactly(numbers):
    frame = pd.DataFrame({"n": numbers, "c": ["a", "b"] * (len(numbers) // 2) + ["a"] * (len(numbers) % 2)})
    qs = columns(frame, bins=4, keep=["n"])
    again = Columns.from_spec(json.loads(json.dumps(qs.to_spec())))
    assert again.fields == qs.fields
    assert again.sentences == qs.sentences
    np.testing.assert_array_equal(again.observe(frame), qs.observe(frame))


def test_dates_are_shown_as_dates_and_read_from_text():
    days = pd.date_range("2019-01-01", "2022-12-31", freq="D")
    qs = columns(pd.DataFrame({"seen": days}), bins=4)
    assert qs.names == ("seen > 2020-01-01", "seen > 2021-01-01", "seen > 2022-01-01")
    assert qs[0].sentence == "Is seen later than 2020-01-01?"
    assert qs.observe(pd.DataFrame({"seen": ["2020-06-01", None]})).tolist() == [[1], [-1]]
    times = columns(pd.DataFrame({"at": pd.to_datetime(["2020-01-01 08:00", "2020-01-01 08:30"])}))
    assert times.names == ("at > 2020-01-01 08:00",)
    zoned = columns(pd.DataFrame({"at": [dt.datetime(2020, 1, 1, h, tzinfo=dt.UTC) for h in (1, 2)]}, dtype=object))
    assert zoned.names == ("at > 2020-01-01 01:00",)


def test_sentences_may_be_reworded():
    frame = pd.DataFrame({"age": [20, 40, 60], "sex": ["f", "m", "f"]})
    wording = {"age": "Are you older than {}?", "sex": "Man or woman?", "age > 40": "Over forty?"}
    assert columns(frame, sentences=wording).sentences == ("Are you older than 20?", "Over forty?", "Man or woman?")
    with pytest.raises(ValueError, match=r"sentences\['age'\]"):
        columns(frame, sentences={"age": "Old?"})
    with pytest.raises(ValueError, match="sentences names 'agee'"):
        columns(frame, sentences={"agee": "?"})
    columns(frame, sentences={"age > 55": "another fold has this threshold"})


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros(3), ValueError, r"X has shape \(3,\).*Reshape your data"),
        (np.zeros((2, 3, 4, 3)), ValueError, "X has shape"),
        ([[1], [1, 2]], ValueError, "X must have rows"),
        (np.zeros((0, 3)), ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.zeros((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        (np.ones((3, 2)), ValueError, "n_samples = 3, but none of its columns"),
        (np.array([[1.0], [np.inf]]), ValueError, "column 'x0', row 1 is inf"),
        (np.array([[1j], [2]]), ValueError, "Complex data not supported"),
        (np.array([[{}], [1]], dtype=object), TypeError, r"row 0 is {} \(dict\).*argument must be a string, a number"),
        (pd.DataFrame({"t": pd.to_timedelta([1, 2])}), TypeError, "column 't' has dtype"),
        (pd.DataFrame([[1, 2], [2, 1]], columns=["a", "a"]), ValueError, "more than one column 'a'"),
        (pl.LazyFrame({"a": [1, 2]}), TypeError, "collect"),
    ],
)
def test_tables_that_cannot_be_asked_about_are_refused(X, error, message):
    with pytest.raises(error, match=message):
        columns(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 1}, "bins=1"),
        ({"max_categories": 1.5}, "max_categories=1.5"),
        ({"names": ["a"]}, "names has 1"),
        ({"names": ["a", "a"]}, "names has more than one column 'a'"),
        ({"sample_weight": [1]}, r"sample_weight has shape \(1,\)"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        columns(np.array([[1.0, 2.0], [3.0, 5.0]]), **options)
    with pytest.raises(ValueError, match="names is"):
        columns(pd.DataFrame({"a": [1, 2]}), names=["b"])


def test_what_cannot_be_read_later_is_refused_with_its_place():
    qs = columns(pd.DataFrame({"age": [20, 40], "seen": pd.to_datetime(["2020-01-01", "2021-01-01"])}))
    good = pd.DataFrame({"age": [30], "seen": pd.to_datetime(["2020-06-01"])})
    with pytest.raises(ValueError, match="column 'age', row 0 is 'old'"):
        qs.observe(good.assign(age="old"))
    with pytest.raises(ValueError, match="column 'age', row 0 is inf"):
        qs.observe(good.assign(age=np.inf))
    with pytest.raises(ValueError, match="column 'seen', row 0 is 'May'"):
        qs.observe(good.assign(seen="May"))
    with pytest.raises(ValueError, match="column 'seen' holds numbers"):
        qs.observe(good.assign(seen=5))
    with pytest.raises(ValueError, match="column 'age' holds dates"):
        qs.observe(good.assign(age=good["seen"]))


def test_a_recipe_waits_for_the_training_data():
    recipe = columns(bins=3, yes_no=True)
    first, second = recipe.fit(np.array([[1.0], [3.0]])), recipe.fit(np.array([[10.0], [30.0]]))
    assert (first.names, second.names) == (("x0 > 1",), ("x0 > 10",))
    assert repr(recipe).startswith("<columns(bins=3, yes_no=True")


# ---- thresholds ----

finite = st.floats(allow_nan=False, allow_infinity=False)
rounded = st.integers(-40, 40).map(float) | st.integers(-400, 400).map(lambda n: n / 8)
some_numbers = hnp.arrays(np.float64, st.integers(2, 60), elements=finite | rounded).filter(lambda v: v.min() < v.max())


def choose(values, bins=10, weights=None):
    values = np.asarray(values, dtype=float)
    return choose_thresholds(values, np.ones(len(values)) if weights is None else np.asarray(weights, float), bins)


@given(some_numbers, st.integers(2, 12))
def test_thresholds_never_make_an_empty_cell(values, bins):
    thresholds = choose(values, bins)
    cells = np.bincount(np.searchsorted(thresholds, values), minlength=len(thresholds) + 1)
    assert 1 <= len(thresholds) <= bins - 1
    assert (cells > 0).all()
    if len(np.unique(values)) <= bins:
        assert len(thresholds) == len(np.unique(values)) - 1


@given(st.data(), some_numbers, st.integers(2, 12))
def test_a_weight_is_the_same_as_a_repetition_for_thresholds(data, values, bins):
    counts = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(1, 5)))
    assert choose(values, bins, weights=counts) == choose(np.repeat(values, counts), bins)
    assert choose(values, bins, weights=counts / 10) == choose(
        values, bins, weights=counts
    )  # their scale does not matter


@given(some_numbers, st.integers(2, 12), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values, bins, random):
    weights = np.linspace(0.1, 0.7, len(values))
    order = list(range(len(values)))
    random.shuffle(order)
    assert choose(values, bins, weights) == choose(values[order], bins, weights[order])


@given(finite, finite)
def test_the_simplest_number_lies_in_the_interval_and_has_no_simpler_one(a, b):
    low, high = sorted((a, b))
    if low == high:
        return
    found = simplest_numbers(low, high)
    assert all(low <= t < high for t in found)
    digits = len(format_number(abs(found[0])).split("e")[0].replace(".", "").strip("0"))
    middle = low / 2 + high / 2
    if digits > 1 and low <= middle < high:  # rounding a number of the interval to fewer digits leaves the interval
        shorter = float(f"{middle:.{digits - 2}e}")
        assert not low <= shorter < high


@given(finite)
def test_a_number_is_written_so_that_it_reads_back(number):
    assert float(format_number(number)) == number


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2, 4, 2, 4, 8], ["2", "4"]),  # legs > 2
        ([1.4, 4.7, 5.1], ["3", "5"]),
        ([-1, 1], ["0"]),
        ([1, 2], ["1"]),
        ([1e-9, 2.5e-9], ["2e-9"]),
        ([1e12, 3.2e12], ["1e12"]),
        ([0.1, 0.2, 0.3], ["0.1", "0.2"]),
        ([1, 1 + 2**-52], ["1"]),
    ],
)
def test_few_values_are_split_between_neighbours(values, expected):
    assert [format_number(t) for t in choose(values)] == expected


def test_thresholds_are_round_and_near_their_quantile():
    ages = np.random.default_rng(0).normal(49.8731, 15, size=5000)
    thresholds = choose(ages)
    ranks = [(ages <= t).mean() for t in thresholds]
    np.testing.assert_allclose(ranks, np.arange(1, 10) / 10, atol=0.025)
    assert all(len(format_number(t)) == 2 for t in thresholds)


def test_a_value_that_most_rows_have_leaves_thresholds_for_the_others():
    gains = np.concatenate([np.zeros(920), np.arange(1, 81) * 100])
    assert choose(gains)[0] == 0
    assert len(choose(gains)) == 9


def test_numbers_of_any_size_get_the_same_kind_of_thresholds():
    values = np.random.default_rng(1).lognormal(size=500)
    small, large = choose(values * 1e-9), choose(values * 1e12)
    np.testing.assert_allclose(np.array(small) * 1e21, large, rtol=0.2)
    assert max(len(format_number(t)) for t in (*small, *large)) <= 7


def test_identifiers_are_left_out_unless_kept():
    n = 60
    rng = np.random.default_rng(0)
    part = rng.permutation(2 * n)[:n]  # the row numbers of a random half of a table
    years = 1900 + rng.permutation(10 * n)[:n]
    frame = pd.DataFrame(
        {
            "id": part,
            "name": [f"p{i}" for i in range(n)],
            "year": years,
            "mass": rng.random(n),
            "x": rng.integers(0, 3, n),
        }
    )
    with pytest.warns(UserWarning, match=r"identifiers.*'id', 'name'$"):
        assert [field.name for field in columns(frame).fields] == ["year", "mass", "x"]
    assert len(columns(frame, keep=["id", "name"]).fields) == 5
    with pytest.raises(ValueError, match=r"identifiers.*keep="):
        columns(frame[["id"]])
    with pytest.raises(ValueError, match="keep names 'nme'"):
        columns(frame, keep=["nme"])


def test_new_rows_are_read_as_people_write_them():
    day = pd.to_datetime(["2020-01-01", "2021-06-01", "2022-01-01", "2023-01-01"] * 5)
    train = pd.DataFrame({"sex": ["male", "female"] * 10, "crp": np.arange(20) / 4 + 0.1, "day": day})
    queries = any_columns(train)
    new = pd.DataFrame(
        {"sex": ["Male", " FEMALE", "divers"], "crp": ["1,5", "unknown", "1.5"], "day": ["1.6.2021"] * 3}
    )
    read = queries.read(new)
    same = queries.read(
        pd.DataFrame(
            {"sex": ["male", "female", None], "crp": [1.5, np.nan, 1.5], "day": pd.to_datetime(["2021-06-01"] * 3)}
        )
    )
    np.testing.assert_array_equal(read.values, same.values)
    np.testing.assert_array_equal(read.numbers, same.numbers)
    assert queries.unseen(new) == {"sex": (1, "divers")}


def test_capitals_decide_between_categories_that_differ_in_nothing_else():
    queries = any_columns(pd.DataFrame({"gene": ["abl", "ABL", "tp53"] * 5}))
    place = {name: i for i, name in enumerate(queries.fields[0].categories)}
    found = queries.read(pd.DataFrame({"gene": ["abl", "ABL", "Abl", "TP53"]})).values[:, 0]
    assert found.tolist() == [place["abl"], place["ABL"], -1, place["tp53"]]


def test_a_text_that_is_too_long_for_a_category_is_refused_with_its_length():
    long = "x" * (MAX_LABEL + 1)
    with pytest.raises(ValueError, match=r"column 'note' has a text of 10,001 characters; .* 10,000 at the most"):
        columns(pd.DataFrame({"note": [long, "b", "c", "b"] * 20}))
    assert columns(pd.DataFrame({"note": [long[1:], "b", "c", "b"] * 20}))[0].choices[2] == long[1:]
    with pytest.warns(UserWarning, match="note"):  # texts that differ from row to row are no categories anyway
        columns(pd.DataFrame({"note": [f"{i} {long}" for i in range(40)], "size": ["s", "l"] * 20}))
