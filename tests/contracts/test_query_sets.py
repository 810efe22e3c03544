"""What every query set promises, run over one of each kind."""

import json

import numpy as np
import pandas as pd
import pytest

from infopursuit.queries import columns, concepts, from_spec, functions, groups, patches, words

PIXELS = np.random.default_rng(0).integers(0, 2, size=(6, 4, 5)).astype(float)
PIXELS[1, 2, 2] = np.nan
TEXTS = ["Trailers leak", "New trailer leaked!", "Senate votes", "The senate voted", None, "nothing"]
MATRIX = np.array([[1, 0, 1], [0, np.nan, 1], [0, 0, 0], [1, 1, np.nan], [1, 0, 0], [0, 1, 1]])
TABLE = pd.DataFrame(
    {
        "age": [31.0, 54.0, np.nan, 18.0, 77.0, 42.0],
        "bill shape": ["cone", "dagger", "hooked", None, "cone", "dagger"],
        "migrates": [True, False, True, False, True, True],
    }
)
FUNCTIONS = {
    "long": lambda texts: [None if t is None else len(t) > 12 for t in texts],
    "mood": lambda texts: [2] * len(texts),
}

SETS = {
    "patches": (patches((4, 5), size=(2, 2)), PIXELS),
    "words": (words(TEXTS), TEXTS),
    "concepts": (concepts(["beak", "tail", "wings"]), MATRIX),
    "columns": (columns(TABLE), TABLE),
    "columns, yes or no": (columns(TABLE, yes_no=True), TABLE),
    "groups": (groups(concepts(["beak", "tail", "wings"]), {"flight": ["wings", "tail"]}), MATRIX),
    "groups of columns": (groups(columns(TABLE), {"visit": ["age", "migrates"]}), TABLE),
    "groups and alone": (groups(columns(TABLE), {"look": ["bill shape", "migrates"]}, alone=True), TABLE),
    "functions": (functions(FUNCTIONS, choices={"mood": ["glad", "sad", "cross"]}), TEXTS),
}


@pytest.fixture(params=SETS, name="case")
def _case(request):
    return SETS[request.param]


def test_shapes_and_ranges(case):
    qs, X = case
    values, answers = qs.observe(X), qs.answers(X)
    assert values.dtype == answers.dtype == np.int64
    assert values.shape == (6, len(qs.variables))
    assert answers.shape == (6, len(qs), qs.width)
    np.testing.assert_array_equal(qs.variables.check(values), values)
    assert (answers < qs.n_cells).all()


def test_unknown_and_padding_are_minus_one(case):
    qs, X = case
    values, answers = qs.observe(X), qs.answers(X)
    assert (values == -1).any()
    unknown = (qs.query_variables < 0) | (values[:, qs.query_variables] == -1)
    np.testing.assert_array_equal(answers == -1, unknown)


def test_alone_and_in_a_batch_are_the_same(case):
    qs, X = case
    values, answers = qs.observe(X), qs.answers(X)
    for row in range(6):
        np.testing.assert_array_equal(qs.observe(X[row : row + 1]), values[row : row + 1])
    for query in range(len(qs)):
        np.testing.assert_array_equal(qs.answers_of(values, np.full(6, query)), answers[:, query])
    mixed = np.arange(6) % len(qs)
    np.testing.assert_array_equal(qs.answers_of(values, mixed), answers[np.arange(6), mixed])


def test_every_query_can_be_asked(case):
    qs, _ = case
    assert len(qs) == len(list(qs)) == len(set(qs.names))
    for index, query in enumerate(qs):
        assert (query.index, query.name) == (index, qs.names[index])
        assert query.sentence.endswith("?")
        assert len(query.choices) == qs.n_answers[index] >= 2
        assert len(set(query.choices)) == len(query.choices)


def test_every_choice_and_index_is_an_answer_and_nonsense_is_not(case):
    qs, _ = case
    for query in range(len(qs)):
        for index, choice in enumerate(qs.choices(query)):
            answer = qs.to_answer(query, choice)
            assert answer == qs.to_answer(query, index) == qs.to_answer(query, answer)
            assert qs.say(query, answer).startswith(qs.names[query] + ": ")
            if qs.width == 1:
                assert qs.say_answer(query, answer) == choice
        assert qs.to_answer(query, None) is None
        for nonsense in ("nonsense", len(qs.choices(query)), -2, 0.5, [0] * (qs.width + 1), {}):
            with pytest.raises(ValueError, match="is no answer to") as caught:
                qs.to_answer(query, nonsense)
            assert repr(nonsense) in str(caught.value)
            assert repr(qs.names[query]) in str(caught.value)


def test_the_answers_of_every_input_are_answers(case):
    qs, X = case
    for row in qs.answers(X):
        for query, cells in enumerate(row):
            answer = qs.to_answer(query, cells)
            assert (answer is None) == (cells == -1).all()
            assert isinstance(qs.say_answer(query, answer), str)


def test_a_spec_goes_through_json_and_back(case):
    qs, X = case
    again = from_spec(qs.kind, json.loads(json.dumps(qs.to_spec())), functions=FUNCTIONS)
    assert type(again) is type(qs)
    assert [list(query.choices) for query in again] == [list(query.choices) for query in qs]
    assert (again.names, again.sentences, again.variables) == (qs.names, qs.sentences, qs.variables)
    np.testing.assert_array_equal(again.answers(X), qs.answers(X))
    assert again.to_spec() == qs.to_spec()


def test_parts_rebuild_the_answers(case):
    qs, X = case
    values, parts = qs.observe(X), qs.parts
    cell_of = [{} for _ in parts.variable]  # for each part: value of its variable -> cell
    for slot, cell in zip(parts.entry_slot, parts.entry_cell, strict=True):
        part = int(np.searchsorted(parts.offsets, cell, side="right")) - 1
        cell_of[part][int(slot - qs.variables.offsets[parts.variable[part]])] = int(cell - parts.offsets[part])
    rebuilt = np.full((6, len(qs), qs.width), -1)
    for (query, place), part in np.ndenumerate(parts.query_part):
        if part >= 0:
            for row in range(6):
                rebuilt[row, query, place] = cell_of[part].get(int(values[row, parts.variable[part]]), -1)
    np.testing.assert_array_equal(rebuilt, qs.answers(X))
    np.testing.assert_array_equal(parts.sizes, [len(set(cells.values())) for cells in cell_of])


def test_an_empty_batch_has_no_answers(case):
    qs, X = case
    assert qs.answers(X[:0]).shape == (0, len(qs), qs.width)


def test_fitting_again_changes_nothing(case):
    qs, X = case
    assert qs.fit(X) is qs
