"""Every query set passes the shipped checks, one of each kind."""

import numpy as np
import pandas as pd
import pytest

from infopursuit.queries import columns, concepts, functions, groups, patches, words
from infopursuit.testing import check_queries

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
    "grey patches": (patches((4, 5), size=(1, 2), levels=4), PIXELS),
    "colour patches": (patches((4, 5), size=1, levels=3, channels=3), np.stack([PIXELS, PIXELS / 2, PIXELS], axis=3)),
    "patches of many answers": (patches((4, 5), size=4, levels=16), PIXELS),
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


def test_a_query_set_keeps_its_contract(case):
    qs, X = case
    assert (qs.observe(X) == -1).any()  # or what is not known would not be looked at
    check_queries(qs, X, functions=FUNCTIONS)


def test_what_is_no_answer_is_refused_with_the_name_of_the_query(case):
    qs, _ = case
    for query in range(len(qs)):
        with pytest.raises(ValueError, match="nonsense") as caught:
            qs.to_answer(query, "nonsense")
        assert repr(qs.names[query]) in str(caught.value)


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


def test_fitting_again_changes_nothing(case):
    qs, X = case
    assert qs.fit(X) is qs
