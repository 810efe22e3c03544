"""Callables as queries."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from infopursuit.queries import Functions, functions

X = np.array([[1.0, -1.0], [2.0, 5.0], [-3.0, 0.0]])


@pytest.mark.parametrize(
    "returned",
    [
        [True, False, None],
        [1, 0, float("nan")],
        (1.0, 0.0, None),
        np.array([1, 0, np.nan]),
        np.array([[1.0], [0.0], [np.nan]]),
        torch.tensor([1.0, 0.0, float("nan")], requires_grad=True),
        torch.tensor([1.0, 0.0, float("nan")], dtype=torch.bfloat16),
        [torch.tensor(1.0, requires_grad=True), torch.tensor(0.0), None],
        pd.Series([True, False, None], dtype="boolean"),
        pl.Series([True, False, None]),
    ],
    ids=str,
)
def test_answers_may_come_in_any_container(returned):
    assert functions({"f": lambda _: returned}).observe(X).tolist() == [[1], [0], [-1]]


def test_one_item_at_a_time():
    qs = functions({"rises": lambda row: row[1] > row[0], "none": lambda row: None}, batched=False)
    assert qs.observe(X).tolist() == [[0, -1], [1, -1], [1, -1]]
    by_name = functions({"rises": lambda row: row["b"] > row["a"]}, batched=False)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for table in (frame, pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()):
        assert by_name.observe(table).tolist() == [[0], [1], [1]]


def test_real_numbers_need_a_threshold():
    first = {"first": lambda x: x[:, 0], "second": lambda x: x[:, 1]}
    assert functions(first, threshold=0).observe(X).tolist() == [[1, 0], [1, 1], [0, 0]]
    assert functions(first, threshold={"first": 1.5, "second": 0}).observe(X).tolist() == [[0, 0], [1, 1], [0, 0]]
    with pytest.raises(ValueError, match=r"'first' returned 2.0 for input 1; .* threshold=\{'first'"):
        functions(first).observe(X)
    with pytest.raises(ValueError, match=r"'second' returned -1\.0 for input 0"):
        functions(first, threshold={"first": 0}).observe(X)


def test_choices_by_name_or_index():
    choices = {"colour": ["red", "green", "blue"]}
    for returned in (["green", "blue", None], [1, 2, None], np.array([1.0, 2.0, np.nan]), ["green", 2, None]):
        qs = functions({"colour": lambda _, r=returned: r}, choices=choices)
        assert qs.observe(X).tolist() == [[1], [2], [-1]]
    assert qs[0].choices == ("red", "green", "blue")
    for bad in ("pink", 3, 0.5, -1):
        with pytest.raises(ValueError, match=r"'colour' returned .* for input 1"):
            functions({"colour": lambda _, b=bad: ["red", b, None]}, choices=choices).observe(X)


def test_a_threshold_leaves_functions_with_choices_alone():
    qs = functions({"n": lambda x: x[:, 0], "c": lambda x: [0, 1, 2]}, threshold=0, choices={"c": ["a", "b", "c"]})
    assert qs.observe(X).tolist() == [[1, 0], [1, 1], [0, 2]]


def test_one_network_answers_all_its_queries_in_one_pass():
    network = torch.nn.Linear(2, 3).double()
    calls = []

    def run(x):
        calls.append(len(x))
        return network(torch.tensor(x))

    qs = functions(run, names=["unit 0", "unit 1", "unit 2"], threshold=0)
    np.testing.assert_array_equal(qs.observe(X), (network(torch.tensor(X)) > 0).numpy())
    assert calls == [3]
    single = functions(lambda row: row > 0, names=["first", "second"], batched=False)
    np.testing.assert_array_equal(single.observe(X), X > 0)
    assert functions(run, names=["unit 0", "unit 1", "unit 2"]).observe(X[:0]).shape == (0, 3)


@pytest.mark.parametrize("returned", [[1, 0], 1, np.zeros((3, 2)), [[1], [0, 1]], "yes"])
def test_a_wrong_shape_names_the_function_and_the_remedy(returned):
    with pytest.raises(ValueError, match=r"query 'f' returned .* for 3 inputs.*batched=False"):
        functions({"f": lambda _: returned}).observe(X)
    with pytest.raises(ValueError, match=r"queries 'a', 'b', 'c' returned .* for 3 inputs"):
        functions(lambda _: returned, names=list("abc")).observe(X)


@pytest.mark.parametrize("value", ["yes", {}, 2, [1]])
def test_a_wrong_value_names_the_query_and_the_input(value):
    with pytest.raises(ValueError, match=r"query 'f' returned .* for input 2"):
        functions({"f": lambda _: [1, 0, value]}).observe(X)


def test_an_error_inside_a_function_comes_through_with_a_note():
    def broken(_):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside") as caught:
        functions({"has a loop": broken}).observe(X)
    assert caught.value.__notes__ == ["raised by the function of query 'has a loop'"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mapping": 3}, TypeError, "mapping is 3"),
        ({"mapping": {"f": 3}}, TypeError, r"mapping\['f'\] is 3"),
        ({"mapping": {}}, ValueError, "empty"),
        ({"mapping": len}, ValueError, "names"),
        ({"mapping": len, "names": ["a", "a"]}, ValueError, "names must differ"),
        ({"mapping": {"f": len}, "names": ["a"]}, ValueError, "names"),
        ({"mapping": {"f": len}, "threshold": {"g": 1}}, ValueError, "threshold names 'g'"),
        ({"mapping": {"f": len}, "choices": {"g": ["a", "b"]}}, ValueError, "choices names 'g'"),
        ({"mapping": {"f": len}, "choices": {"f": ["a"]}}, ValueError, r"choices\['f'\] is \['a'\]"),
        ({"mapping": {"f": len}, "choices": {"f": [1, 2]}}, ValueError, r"choices\['f'\]"),
        (
            {"mapping": {"f": len}, "choices": {"f": ["a", "b"]}, "threshold": {"f": 1}},
            ValueError,
            "choices and threshold",
        ),
        ({"mapping": {"f": len}, "sentences": {"g": "?"}}, ValueError, "sentences names 'g'"),
    ],
)
def test_what_cannot_work_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        functions(**arguments)


def test_functions_are_not_saved_and_needed_again():
    code = {"first": lambda x: x[:, 0], "mood": lambda x: ["glad"] * len(x)}
    qs = functions(code, threshold=1, choices={"mood": ["glad", "sad"]}, sentences={"first": "Is it?"})
    spec = json.loads(json.dumps(qs.to_spec()))
    again = Functions.from_spec(spec, functions=code)
    assert again.sentences == ("Is it?", "mood?")
    np.testing.assert_array_equal(again.observe(X), qs.observe(X))
    with pytest.raises(ValueError, match="functions is None"):
        Functions.from_spec(spec)
    with pytest.raises(ValueError, match="no entry 'mood'"):
        Functions.from_spec(spec, functions={"first": len})
    with pytest.raises(ValueError, match=r"functions is .*mapping"):
        Functions.from_spec(spec, functions=len)
