"""CUB: the tables from both kinds of file, answers that are real or say that they are not."""

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.datasets.birds import draw_answers, read_answers
from data_fixtures import use_data_folder

C, A, N = 3, 5, 24
NAMES = ("001.Laughing_Gull", "002.Green_Jay", "003.Winter_Wren")
ATTRIBUTES = tuple(f"has_bill_shape::kind_{a}" for a in range(A))


def tables():
    """The arrays of a small npz file; a class has some images in each part."""
    rng = np.random.default_rng(0)
    species = np.repeat(np.arange(C), N // C).astype(np.int16)
    return {
        "class_attr_pct": rng.uniform(0, 100, size=(C, A)).round(6).astype(np.float32),
        "attribute_names": np.array(ATTRIBUTES),
        "class_names": np.array(NAMES),
        "image_paths": np.array([f"{NAMES[c]}/bird_{i:04}.jpg" for i, c in enumerate(species)]),
        "image_class": species,
        "is_train": np.arange(N) % 2 == 0,
    }


def write_npz(folder, **changes):
    arrays = {key: value for key, value in {**tables(), **changes}.items() if value is not None}
    np.savez_compressed(folder / "cub_attributes.npz", **arrays)
    return folder / "cub_attributes.npz"


def numbered(words):
    return "".join(f"{i} {word}\n" for i, word in enumerate(words, start=1))


def write_texts(folder, *, flat=False):
    """As the archive unpacks, or all in one folder."""
    arrays = tables()
    root, inner = (folder / "cub",) * 2 if flat else (folder / "CUB_200_2011", folder / "CUB_200_2011" / "attributes")
    inner.mkdir(parents=True, exist_ok=True)
    texts = {
        (root if flat else folder) / "attributes.txt": numbered(ATTRIBUTES),
        root / "images.txt": numbered(arrays["image_paths"]),
        root / "image_class_labels.txt": numbered(arrays["image_class"] + 1),
        root / "train_test_split.txt": numbered(arrays["is_train"].astype(int)),
        inner / "class_attribute_labels_continuous.txt": "".join(
            " ".join(f"{p:.9g}" for p in row) + "\n" for row in arrays["class_attr_pct"]
        ),
    }
    for path, text in texts.items():
        path.write_text(text)
    return {path.name: path for path in texts}


def write_answers(folder, answers):
    path = folder / "image_attribute_labels.txt"
    lines = [f"{i + 1} {a + 1} {answers[i, a]} {1 + (i + a) % 4} 12.7{i}\n" for i in range(N) for a in range(A)]
    lines[7] = lines[7].replace(" 12.7", " 0 12.7")  # the official file has such lines
    path.write_text("".join(lines))
    return path


def test_both_formats_give_the_same_arrays(folder):
    path = write_npz(folder)
    from_npz = datasets.cub(seed=3)
    path.unlink()
    for flat in (True, False):
        files = write_texts(folder, flat=flat)
        from_texts = datasets.load("cub", seed=3)
        for key in ("x_train", "y_train", "ids_train", "x_test", "y_test", "ids_test", "class_percentages"):
            np.testing.assert_array_equal(getattr(from_npz, key), getattr(from_texts, key))
            assert getattr(from_npz, key).dtype == getattr(from_texts, key).dtype
        assert from_npz.class_names == from_texts.class_names == NAMES
        assert from_npz.feature_names == from_texts.feature_names == ATTRIBUTES
        for file in files.values():
            file.unlink()


def test_simulated_answers_say_so(folder):
    write_npz(folder)
    data = datasets.cub()
    assert data.simulated
    assert "SIMULATED" in data.description
    assert "simulated" in repr(data)
    assert data.x_train.shape == (12, A)
    assert set(np.unique(data.x_train)) <= {0, 1}
    np.testing.assert_array_equal(data.x_train, datasets.cub(seed=0).x_train)
    assert (data.x_train != datasets.cub(seed=1).x_train).any()


def test_simulated_answers_follow_the_percentages():
    percentages = np.array([[0, 100, 30.0], [50, 2, 99]], dtype=np.float32)
    n = 20_000
    drawn = draw_answers(percentages, np.repeat([0, 1], n), seed=5).reshape(2, n, 3)
    means, share = drawn.mean(axis=1), percentages / 100
    assert (np.abs(means - share) <= 4 * np.sqrt(share * (1 - share) / n)).all()
    wrong = share[::-1]  # a control: those of the other species do not fit
    assert (np.abs(means - wrong) > 4 * np.sqrt(wrong * (1 - wrong) / n)).all()


def test_real_answers_are_used_where_they_are(folder):
    answers = np.random.default_rng(1).integers(2, size=(N, A))
    write_npz(folder)
    path = write_answers(folder, answers)
    data = datasets.cub()
    assert not data.simulated
    assert "SIMULATED" not in data.description
    np.testing.assert_array_equal(data.x_train, answers[::2])
    np.testing.assert_array_equal(data.x_test, answers[1::2])
    np.testing.assert_array_equal(datasets.cub(seed=1, answers="real").x_test, answers[1::2])
    assert datasets.cub(answers="simulated").simulated
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"image_attribute_labels.txt is not in"):
        datasets.cub(answers="real")
    with pytest.raises(ValueError, match="answers is 'maybe'; say \"auto\""):
        datasets.cub(answers="maybe")


def test_certainties_are_read_too(folder):
    answers = np.ones((N, A), dtype=int)
    found, certainties = read_answers(write_answers(folder, answers), N, A)
    np.testing.assert_array_equal(found, answers)
    np.testing.assert_array_equal(certainties, 1 + np.add.outer(np.arange(N), np.arange(A)) % 4)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1 2 3 0.1", "answers other than 0 and 1"),
        ("1 1 1 5 0.1", "certainties that are not 1 to 4"),
        ("25 1 1 3 0.1", "not among 24 and 5"),
        ("1 6 1 3 0.1", "not among 24 and 5"),
        ("1 0 1 3 0.1", "not among 24 and 5"),
        ("1 2 1 3 0.1", "has 120 lines; expected one for each"),
        ("1 one 1 3", "does not begin with four whole numbers"),
        ("1 1 1", "does not begin with four whole numbers"),
        ("", "has 119 lines"),
        ("1 1 1 3 0.1\n1 1 1 3 0.1", "has 121 lines"),
    ],
)
def test_bad_answers_are_refused_by_name(folder, line, message):
    write_npz(folder)
    path = write_answers(folder, np.ones((N, A), dtype=int))
    path.write_text("\n".join([line, *path.read_text().splitlines()[1:]]) + "\n")
    with pytest.raises(ValueError, match=message) as caught:
        datasets.cub()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"is_train": None}, "no array 'is_train'"),
        ({"class_attr_pct": np.zeros((C, A + 1))}, r"class_attr_pct of .*\(3, 6\).*expected \(3, 5\)"),
        ({"class_attr_pct": np.full((C, A), 101.0)}, "not all from 0 to 100"),
        ({"class_attr_pct": np.full((C, A), np.nan)}, "not all from 0 to 100"),
        ({"image_class": np.full(N, 3)}, "species that are not among its 3"),
        ({"image_class": np.zeros(N)}, "image_class of .*float64"),
        ({"is_train": np.ones(N, dtype=bool)}, "leaves one part empty"),
        ({"is_train": np.arange(N)}, "not made of 0 and 1"),
        ({"is_train": np.array(["a"] * N)}, "is_train of .*expected"),
        ({"attribute_names": np.arange(A)}, "attribute_names of .*expected a list of texts"),
        ({"class_names": np.array([None] * C)}, "'class_names'"),  # would be a pickle
    ],
)
def test_what_does_not_fit_is_refused_by_name(folder, changes, message):
    path = write_npz(folder, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.cub()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("attributes.txt", "1 a\n3 b\n", "line 2 of .* is '3 b'; expected 2 and one word"),
        ("attributes.txt", "1 a\n", r"\(3, 5\).*expected \(any, 1\)"),
        ("images.txt", "1 a b c\n", "line 1 of .* expected 1 and one word"),
        ("images.txt", numbered(["x/y.jpg"] * (N - 1)), "has 24 lines, but .*images.txt has 23"),
        ("images.txt", numbered(f"{i}/y.jpg" for i in range(N)), "one folder for each of the 3 species"),
        ("image_class_labels.txt", numbered(["-1"] * N), "line 1 of .* has '-1'"),
        ("image_class_labels.txt", numbered(["1"] * N), "one folder for each of the 3 species"),
        ("train_test_split.txt", numbered(["2"] * N), "not made of 0 and 1"),
        ("class_attribute_labels_continuous.txt", "1 2\n3\n", "not a table of numbers"),
        ("class_attribute_labels_continuous.txt", "1 2 3 4 x\n", "not a table of numbers"),
    ],
)
def test_bad_texts_are_refused_by_name(folder, name, text, message):
    files = write_texts(folder)
    files[name].write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.cub()
    assert str(folder) in str(caught.value)


def test_missing_files_are_named(folder):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.cub()
    for words in ("cub_attributes.npz", str(folder / "cub"), "images.txt", "https://", "download('cub')"):
        assert words in str(caught.value)
    write_texts(folder)["images.txt"].unlink()
    with pytest.raises(FileNotFoundError, match=r"put these files of it into .*cub: images.txt\. "):
        datasets.cub()


@pytest.mark.data
def test_the_real_file(real_data):
    path = real_data("cub_attributes.npz")
    data = datasets.cub(answers="simulated")
    assert data.x_train.shape == (5994, 312)
    assert data.x_test.shape == (5794, 312)
    assert data.n_classes == 200
    assert data.class_names[0] == "001.Black_footed_Albatross"
    assert data.feature_names[1] == "has_bill_shape::dagger"
    majority = np.load(path)["class_attr_majority312"]
    np.testing.assert_array_equal(data.class_percentages >= 50, majority)
    share = data.class_percentages[data.y_train] / 100
    z = (data.x_train.sum() - share.sum()) / np.sqrt((share * (1 - share)).sum())
    assert abs(z) < 4
    assert all(str(data.ids_test[i]).startswith(data.class_names[data.y_test[i]]) for i in range(0, 5794, 97))


@pytest.mark.data
def test_the_real_tables_survive_the_official_format(real_data, tmp_path, monkeypatch):
    arrays = np.load(real_data("cub_attributes.npz"))
    before = datasets.cub(answers="simulated")
    files = {
        "attributes.txt": numbered(arrays["attribute_names"]),
        "images.txt": numbered(arrays["image_paths"]),
        "image_class_labels.txt": numbered(arrays["image_class"] + 1),
        "train_test_split.txt": numbered(arrays["is_train"].astype(int)),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    np.savetxt(tmp_path / "class_attribute_labels_continuous.txt", arrays["class_attr_pct"], fmt="%.9g")
    use_data_folder(monkeypatch, tmp_path)
    after = datasets.cub(answers="simulated")
    np.testing.assert_array_equal(before.x_test, after.x_test)
    np.testing.assert_array_equal(before.class_percentages, after.class_percentages)
    assert before.class_names == after.class_names
