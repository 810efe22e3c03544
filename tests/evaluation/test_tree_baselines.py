"""Baselines of `fit`, `evaluate` and `demo`: worlds in which the best tree is known."""

import numpy as np
import pandas as pd
import pytest

from infopursuit.queries import concepts, patches
from infopursuit.strategies.baselines import BOOSTED, FOREST, MAX_BOOSTED_CLASSES, TREE, on_answers, on_columns

ROWS = np.arange(40)


def test_questions_are_the_different_columns_on_a_path():
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    y = 2 * x[:, 0] + x[:, 0] * x[:, 1]  # one question where the first column is 0, two where it is 1
    found = on_columns(x, y, ROWS, ROWS)
    assert found[TREE][0].all()
    assert found[TREE][1].tolist() == (1 + x[:, 0]).tolist()
    assert found[BOOSTED][1].tolist() == [2] * 40


def test_a_category_is_one_column_however_often_it_is_split():
    x = pd.DataFrame({"colour": list("abcd") * 25})
    rows, y = np.arange(100), np.tile(np.arange(4), 25)
    found = on_columns(x, y, rows[:80], rows[80:])
    assert found[TREE][0].all()
    assert found[TREE][1].tolist() == [1] * 20


def test_a_patch_is_one_question_and_unknown_answers_are_taken():
    values = np.random.default_rng(0).integers(0, 2, (400, 4))
    y = values[:, 0] + 2 * values[:, 1]
    values[::50] = -1
    found = on_answers(patches((2, 2), size=(1, 2)), values, y, np.arange(300), np.arange(300, 400))
    known = values[300:, 0] >= 0
    for name in (TREE, BOOSTED):
        assert found[name][0][known].all()
    assert found[TREE][1].max() == 1


def test_the_black_box_sees_only_what_queries_reveal():
    values = np.random.default_rng(0).integers(0, 2, (300, 4))
    corner = patches((2, 2), size=(1, 2), stride=(2, 2))
    found = on_answers(corner, values, values[:, 3], np.arange(200), np.arange(200, 300))
    assert found[BOOSTED][0].mean() < 0.75


@pytest.mark.parametrize("n_classes", [2, MAX_BOOSTED_CLASSES + 5])
def test_any_number_of_classes(n_classes):
    rng = np.random.default_rng(0)
    y = np.append(np.repeat(np.arange(n_classes), 40), 0)
    values = (rng.random((n_classes, 30)) < 0.5)[y].astype(int)
    asked = concepts([f"q{i}" for i in range(30)])
    found = on_answers(asked, values, y, np.arange(len(y) - 1), np.arange(len(y)))
    assert found[BOOSTED if n_classes == 2 else FOREST][0].mean() > 0.9


def test_classes_of_one_row():
    values = np.eye(3, dtype=int)
    rows = np.arange(3)
    assert on_answers(concepts(["a", "b", "c"]), values, rows, rows, rows)[TREE][0].all()
