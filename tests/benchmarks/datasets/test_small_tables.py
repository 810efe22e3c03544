"""Small tables: what comes along, both kinds of file, repeats and namesakes, damage."""

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.datasets.small_tables import ANIMALS, TRAITS
from infopursuit import queries

LEGS = TRAITS.index("legs")


def animals(n=42):
    """Names, traits and kinds; each row of traits occurs twice, and so does a name."""
    rng = np.random.default_rng(0)
    traits = np.repeat(rng.integers(2, size=(n // 2, 16)), 2, axis=0)
    traits[:, LEGS] = np.repeat(rng.choice([0, 2, 4, 5, 6, 8], size=n // 2), 2)
    names = ["frog" if i in (3, 20) else f"beast{i}" for i in range(n)]
    return names, traits, np.repeat(np.arange(n // 2) % 7 + 1, 2)


def write_zoo(folder, **changes):
    names, traits, kinds = animals()
    arrays = {
        "x": traits.astype(np.uint8),
        "y": kinds.astype(np.uint8),
        "animal_names": np.array(names),
        "feature_names": np.array(TRAITS),
        "class_names": np.array(["", *ANIMALS]),
        **changes,
    }
    path = folder / "zoo.npz"
    np.savez_compressed(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def write_zoo_data(folder):
    rows = zip(*animals(), strict=True)
    path = folder / "zoo.data"
    path.write_text("".join(f"{name},{','.join(map(str, traits))},{kind}\n" for name, traits, kind in rows))
    return path


SYMPTOMS = ("itching", "fluid_overload", "spotting_ urination", *(f"symptom_{i}" for i in range(6)), "fluid_overload")
DISEASES = ("(vertigo) Paroymsal  Positional Vertigo", "AIDS", "Acne")


def patients(copies=4):
    """(B, 10) answers and (B,) diseases; every row occurs several times."""
    rng = np.random.default_rng(0)
    x = np.unique(rng.integers(2, size=(30, len(SYMPTOMS)), dtype=np.uint8), axis=0)
    return np.tile(x, (copies, 1)), np.tile(np.arange(len(x)) % 3, copies)


def write_diseases(folder, **changes):
    x, y = patients()
    arrays = {
        "x": np.packbits(x, axis=1),
        "n_symptoms": np.int32(len(SYMPTOMS)),
        "y": y.astype(np.int16),
        "symptom_names": np.array(SYMPTOMS),
        "class_names": np.array(DISEASES),
        **changes,
    }
    path = folder / "disease_symptoms.npz"
    np.savez_compressed(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def write_training_csv(folder, end=","):
    """One of the two forms in use: each line ends in a comma."""
    (folder / "disease_symptoms").mkdir(exist_ok=True)
    path = folder / "disease_symptoms" / "Training.csv"
    lines = [",".join((*SYMPTOMS, "prognosis"))]
    lines += [f"{','.join(map(str, row))},{DISEASES[label]} " for row, label in zip(*patients(), strict=True)]
    path.write_text("".join(line + end + "\n" for line in lines))
    return path


def same(one, other):
    for key in ("x", "y", "groups", "ids"):
        for part in ("train", "test"):
            np.testing.assert_array_equal(getattr(one, f"{key}_{part}"), getattr(other, f"{key}_{part}"))
    assert one.x_train.dtype == other.x_train.dtype
    assert one.class_names == other.class_names
    assert one.feature_names == other.feature_names


def test_both_formats_of_the_zoo_give_the_same_table(folder):
    write_zoo(folder)
    from_npz = datasets.zoo()
    write_zoo_data(folder)
    same(from_npz, datasets.load("zoo"))


def test_legs_are_a_category_and_the_rest_is_yes_or_no(folder):
    write_zoo(folder)
    data = datasets.zoo()
    asked = queries.columns(data.x_train, names=data.feature_names)
    choices = {query.name: query.choices for query in (asked[i] for i in range(len(asked)))}
    assert set(choices) == set(TRAITS)
    assert choices.pop("legs") == ("0", "2", "4", "5", "6", "8")
    assert set(choices.values()) == {("no", "yes")}


def test_animals_with_the_same_traits_are_on_one_side_and_namesakes_told_apart(folder):
    write_zoo(folder)
    data = datasets.zoo()
    assert not {tuple(row) for row in data.x_train} & {tuple(row) for row in data.x_test}
    names = [*data.ids_train, *data.ids_test]
    assert len(set(names)) == 42
    assert {"frog", "frog (second)"} <= set(names)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": None}, "no array 'y'"),
        ({"x": np.zeros((42, 15), dtype=np.uint8)}, r"x of .*\(42, 15\).*expected \(42, 16\)"),
        ({"x": np.full((42, 16), 2, dtype=np.uint8)}, "all traits but legs.* has 2; expected 0 and 1"),
        ({"y": np.zeros(42, dtype=np.uint8)}, "labels from -1"),
        ({"y": np.full(42, 8, dtype=np.uint8)}, "labels from 7 to 7"),
        ({"feature_names": np.array(TRAITS[::-1])}, "expected hair, feathers"),
        ({"animal_names": np.array([None] * 42)}, "'animal_names'"),  # would be a pickle
    ],
)
def test_a_bad_zoo_is_refused_by_name(folder, changes, message):
    path = write_zoo(folder, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.zoo()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gnu,1,0,0\n", "line 2 of .* is 'gnu,1,0,0'; expected a name, 16 traits and the kind"),
        (f"gnu,{'x,' * 16}1\n", "line 2 of"),
        ('"gnu" x,1\n', "line 2 of .* is not CSV"),
    ],
)
def test_bad_lines_of_the_zoo_are_refused(folder, line, message):
    path = write_zoo_data(folder)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], line, *lines[1:]]))
    with pytest.raises(ValueError, match=message) as caught:
        datasets.zoo()
    assert str(path) in str(caught.value)
    path.write_text("")
    with pytest.raises(ValueError, match="does not fit together"):
        datasets.zoo()


@pytest.mark.parametrize("end", [",", ""])
def test_both_formats_of_the_diseases_give_the_same_table(folder, end):
    write_diseases(folder)
    from_npz = datasets.diseases()
    write_training_csv(folder, end)
    same(from_npz, datasets.load("disease_symptoms"))


def test_repeats_are_removed_and_namesakes_told_apart(folder):
    write_diseases(folder)
    data = datasets.load("diseases")
    x, _ = patients(1)
    assert len(data.x_train) + len(data.x_test) == len(x)
    rows = np.concatenate([data.x_train, data.x_test])
    assert len(np.unique(rows, axis=0)) == len(x)
    assert {tuple(row) for row in rows} == {tuple(row) for row in x}
    assert data.feature_names.count("fluid_overload") == 1
    assert data.feature_names[-1] == "fluid_overload (second)"
    assert "spotting_ urination" in data.feature_names
    assert data.class_names[0] == "(vertigo) Paroymsal Positional Vertigo"
    queries.concepts(data.feature_names).observe(data.x_test)  # names are different, answers are 0 and 1


def test_a_row_with_two_diseases_is_on_one_side(folder):
    x, y = patients(1)
    write_diseases(folder, x=np.packbits(np.tile(x, (2, 1)), axis=1), y=np.concatenate([y, (y + 1) % 3]))
    data = datasets.diseases()
    assert len(data.x_train) + len(data.x_test) == 2 * len(x)
    assert not {tuple(row) for row in data.x_train} & {tuple(row) for row in data.x_test}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_names": None}, "no array 'class_names'"),
        ({"n_symptoms": np.int32(9)}, "not packed as bits of 10 symptoms"),
        ({"n_symptoms": np.arange(3)}, r"n_symptoms of .*\(3,\)"),
        ({"x": np.zeros((120, 3), dtype=np.uint8)}, r"x of .*\(120, 3\).*expected \(any, 2\)"),
        ({"x": np.zeros((120, 2))}, "x of .*float64"),
        ({"y": np.zeros(3, dtype=int)}, r"y of .*\(3,\)"),
        ({"class_names": np.array(DISEASES[:2])}, "there are 2 classes"),
    ],
)
def test_bad_diseases_are_refused_by_name(folder, changes, message):
    path = write_diseases(folder, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.diseases()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [lines[0].replace("prognosis", "label"), *lines[1:]], "no column 'prognosis'"),
        (lambda lines: [lines[0], "1,0\n", *lines[1:]], "line 2 of"),
        (lambda lines: [lines[0], lines[1].replace("0", "2", 1), *lines[2:]], "line 2 of"),
        (lambda lines: [], "no column 'prognosis'"),
        (lambda lines: lines[:1], "does not fit together"),
    ],
)
def test_bad_lines_of_the_diseases_are_refused(folder, change, message):
    path = write_training_csv(folder)
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
    with pytest.raises(ValueError, match=message) as caught:
        datasets.diseases()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("zoo", ("zoo.npz", "zoo.data", "https://archive.ics.uci.edu")),
        ("diseases", ("disease_symptoms.npz", "Training.csv", "https://www.kaggle.com")),
    ],
)
def test_missing_files_are_named(folder, name, words):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name)
    for word in (*words, str(folder), "INFOPURSUIT_DATA"):
        assert word in str(caught.value)


@pytest.mark.data
def test_the_real_zoo(real_data):
    real_data("zoo.npz")
    data = datasets.zoo()
    assert data.x_train.shape[1] == 16
    assert np.bincount(np.concatenate([data.y_train, data.y_test])).tolist() == [41, 20, 5, 13, 4, 8, 10]
    assert data.class_names == ANIMALS
    assert data.feature_names == TRAITS
    assert {"frog", "frog (second)", "platypus"} <= {*data.ids_train, *data.ids_test}
    assert "101 rows, 59 of them different" in data.description
    assert set(data.x_train[:, LEGS]) | set(data.x_test[:, LEGS]) == set("024568")


@pytest.mark.data
def test_the_real_diseases(real_data):
    real_data("disease_symptoms.npz")
    data = datasets.diseases()
    assert len(data.x_train) + len(data.x_test) == 304
    assert data.x_train.shape[1] == len(set(data.feature_names)) == 132
    assert data.n_classes == 41
    assert not {tuple(row) for row in data.x_train} & {tuple(row) for row in data.x_test}
    assert set(data.y_test) == set(data.y_train) == set(range(41))
    first, second = data.feature_names.index("fluid_overload"), data.feature_names.index("fluid_overload (second)")
    assert not data.x_train[:, first].any()
    assert data.x_train[:, second].any()
