"""A network that answers questions about images, and pursuits that ask it."""

import numpy as np
import pytest
import torch

from benchmarks.concept_network import (
    ConceptNetwork,
    ConceptSettings,
    load_concept_network,
    masked_loss,
    train_concept_network,
)
from infopursuit import InformationPursuitClassifier, ModelFormatError, models

NAMES = ("red", "blue", "square", "large", "striped")
# what each class is; a class is told by two or three of them together
CLASSES = np.array([[1, 0, 1, 1, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 1], [0, 1, 0, 1, 0]])
QUICK = ConceptSettings(channels=(12, 24), epochs=12, batch_size=32, learning_rate=0.01)


def pictures(n, seed, noise=0.15):
    """Shapes of 16 x 16 pixels: images (n, 16, 16, 3) uint8, attributes (n, 5), classes (n,)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(len(CLASSES), size=n)
    images = np.zeros((n, 16, 16, 3))
    rows, columns = np.mgrid[:16, :16]
    for i, (red, _, square, large, striped) in enumerate(CLASSES[labels]):
        radius = 6 if large else 3
        middle = rng.integers(radius, 16 - radius, size=2)
        down, across = np.abs(rows - middle[0]), np.abs(columns - middle[1])
        inside = (np.maximum(down, across) if square else down + across) < radius
        if striped:
            inside &= rows % 2 == 0
        images[i, inside] = (0.9, 0.1, 0.1) if red else (0.1, 0.1, 0.9)
    images += noise * rng.normal(size=images.shape)
    return (255 * images.clip(0, 1)).astype(np.uint8), CLASSES[labels], labels


@pytest.fixture(scope="module")
def taught():
    """A network, taught on 400 pictures."""
    images, attributes, _ = pictures(400, seed=0)
    return train_concept_network(images, attributes, NAMES, QUICK)


def test_the_network_learns_attributes(taught):
    images, attributes, _ = pictures(300, seed=1)
    right = (taught.answers(images) == attributes).mean(axis=0)
    assert right.min() > 0.85, dict(zip(NAMES, right, strict=True))
    assert right[:2].min() > 0.97  # colours are easy
    probabilities = taught.probabilities(images)
    np.testing.assert_array_equal(taught.answers(images), probabilities > 0.5)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_a_pursuit_asks_the_network_and_classifies(taught):
    images, _, labels = pictures(300, seed=2)
    others, _, truth = pictures(200, seed=3)
    clf = InformationPursuitClassifier(taught.queries(), strategy="table").fit(images, labels)
    assert clf.score(others, truth) > 0.9
    trace = clf.explain(others[:5])
    assert "does the network see" in trace[0].steps[0].sentence
    assert trace.length.mean() < len(NAMES)


def test_errors_of_the_network_are_in_the_generative_model():
    """The network was taught that large red squares are not red. The model has what the network says, not what is
    true."""
    images, attributes, labels = pictures(400, seed=4)
    wrong = attributes.copy()
    wrong[labels == 0, 0] = 0
    network = train_concept_network(images, wrong, NAMES, QUICK)
    fresh, _, fresh_labels = pictures(400, seed=5)
    said = network.answers(fresh)
    assert said[fresh_labels == 0, 0].mean() < 0.3  # they are red, all of them
    clf = InformationPursuitClassifier(network.queries(), strategy=models.naive_bayes(1.0)).fit(fresh, fresh_labels)
    believed = clf.pursuit_.model.tables()[2][:, 0, 1::2]  # (C, A)
    often = np.stack([said[fresh_labels == c].mean(axis=0) for c in range(4)])
    np.testing.assert_allclose(believed, often, atol=0.02)
    assert clf.score(*pictures(200, seed=6)[::2]) > 0.85


def test_what_is_not_known_teaches_nothing():
    logits = torch.zeros((2, 2), requires_grad=True)
    total, known = masked_loss(logits, np.array([[1, -1], [-1, 0]]))
    total.backward()
    assert known == 2
    assert (logits.grad == 0).tolist() == [[False, True], [True, False]]
    images, attributes, _ = pictures(400, seed=0)
    holes = np.where(np.random.default_rng(7).random(attributes.shape) < 0.3, np.nan, attributes)
    network = train_concept_network(images, holes, NAMES, QUICK)
    images, attributes, _ = pictures(200, seed=1)
    assert (network.answers(images) == attributes).mean() > 0.9


def test_floats_and_bytes_are_the_same_image_and_images_do_not_sway_each_other(taught):
    images, _, _ = pictures(20, seed=8)
    whole = taught.probabilities(images)
    np.testing.assert_allclose(taught.probabilities(images / 255), whole, atol=1e-5)
    np.testing.assert_allclose(taught.probabilities(images[3:4])[0], whole[3], atol=1e-5)
    assert taught.answers(images[:0]).shape == (0, len(NAMES))


def test_the_same_seed_gives_the_same_network_and_leaves_torch_alone():
    images, attributes, _ = pictures(60, seed=0)
    few = ConceptSettings(channels=(4,), epochs=2)
    before = torch.random.get_rng_state()
    one, two = (train_concept_network(images, attributes, NAMES, few) for _ in range(2))
    np.testing.assert_array_equal(one.probabilities(images), two.probabilities(images))
    other = train_concept_network(images, attributes, NAMES, ConceptSettings(channels=(4,), epochs=2, seed=1))
    assert np.abs(one.probabilities(images) - other.probabilities(images)).max() > 1e-3
    assert torch.equal(torch.random.get_rng_state(), before)


def test_teaching_stops_when_it_does_no_good():
    images, _, _ = pictures(80, seed=0)
    coin = np.random.default_rng(9).integers(0, 2, size=(80, 1))
    said = []
    settings = ConceptSettings(channels=(16,), epochs=200, patience=3, learning_rate=0.02)
    train_concept_network(images, coin, ["a coin"], settings, say=said.append)
    assert said[-1] == "no better for 3 epochs"
    assert len(said) < 100


def test_saved_and_read_again_it_answers_the_same(taught, tmp_path):
    images, _, _ = pictures(50, seed=10)
    file = tmp_path / "new" / "network.safetensors"
    taught.save(file)
    again = load_concept_network(file)
    assert isinstance(again, ConceptNetwork)
    assert (again.names, again.shape, again.channels) == (taught.names, taught.shape, taught.channels)
    np.testing.assert_array_equal(again.probabilities(images), taught.probabilities(images))
    assert again.queries().names == NAMES


def test_files_that_are_none_are_refused(taught, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not there; give a file that ConceptNetwork\.save"):
        load_concept_network(tmp_path / "nothing")
    file = tmp_path / "network.safetensors"
    taught.save(file)
    content = file.read_bytes()
    for damaged in (b"", b"no file", content[:-100], content.replace(b"channels", b"changels", 1)):
        file.write_bytes(damaged)
        with pytest.raises(ModelFormatError, match="holds no concept network, or is damaged"):
            load_concept_network(file)


def images_of(*shape):
    return np.zeros(shape, dtype=np.uint8)


@pytest.mark.parametrize(
    ("images", "answers", "names", "message"),
    [
        (images_of(4, 16, 16), np.zeros((4, 1)), ["a"], r"images has shape \(4, 16, 16\); expected"),
        (images_of(4, 16, 16, 1), np.zeros((4, 1)), ["a"], "red, green and blue"),
        (np.full((4, 8, 8, 3), 7.0), np.zeros((4, 1)), ["a"], "floats from 0 to 1"),
        (np.full((4, 8, 8, 3), np.nan), np.zeros((4, 1)), ["a"], "floats from 0 to 1"),
        (images_of(4, 8, 8, 3), np.zeros((3, 1)), ["a"], r"answers has shape \(3, 1\); expected \(4, 1\)"),
        (images_of(4, 8, 8, 3), np.full((4, 1), 2), ["a"], "answers holds 2; give 1, 0, and NaN"),
        (images_of(4, 8, 8, 3), np.full((4, 1), np.nan), ["a"], "not known for any image"),
        (images_of(4, 8, 8, 3), np.zeros((4, 2)), ["a", "a"], "names must differ"),
        (images_of(4, 8, 8, 3), np.zeros((4, 1)), "a", "give a list of names"),
        (images_of(1, 8, 8, 3), np.zeros((1, 1)), ["a"], "give 2 or more"),
    ],
)
def test_bad_input_is_refused(images, answers, names, message):
    with pytest.raises(ValueError, match=message):
        train_concept_network(images, answers, names, ConceptSettings(epochs=1))


def test_images_of_another_size_are_refused(taught):
    with pytest.raises(ValueError, match="taught on 16 x 16 pixels, resize them"):
        taught.answers(images_of(2, 8, 8, 3))


@pytest.mark.parametrize(
    "bad", [{"channels": ()}, {"channels": (0,)}, {"epochs": 0}, {"learning_rate": 0.0}, {"validation": 1.0}]
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ConceptSettings(**bad)
