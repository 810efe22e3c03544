"""The shipped models: found by name, small, quick, and right."""

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks import make_shipped as make
from infopursuit import shipped
from infopursuit.app.shipped import FOLDER
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.estimator.storage import save
from infopursuit.support.types import ModelFormatError


@pytest.fixture(scope="module")
def digit_pursuit():
    return shipped.load("mnist")


def test_names_and_summaries():
    assert shipped.names() == ("animals", "tumours", "digits", "mnist")
    for name in shipped.names():
        assert shipped.is_shipped(name)
        assert shipped.summary(name).endswith(".")
    assert not shipped.is_shipped("cats")
    assert not shipped.is_shipped(None)
    for wrong in (shipped.load, shipped.summary):
        with pytest.raises(ValueError, match=r"'cats' is no shipped model; those are animals, tumours, digits, mnist"):
            wrong("cats")


def test_open_model_takes_a_name_or_a_folder(tmp_path):
    animals = shipped.open_model("animals")
    save(animals, tmp_path / "mine")
    again = shipped.open_model(tmp_path / "mine")
    assert again.classes.tolist() == animals.classes.tolist()
    np.testing.assert_allclose(again.believe(((0, (1,)),)), animals.believe(((0, (1,)),)))


def test_open_model_says_what_would_do(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not there; .*\(animals, tumours, digits, mnist\), or a folder"):
        shipped.open_model(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"is a folder without a saved model"):
        shipped.open_model(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError, match=r"is a file"):
        shipped.open_model(str(tmp_path / "file"))


def test_all_of_it_is_small():
    assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.suffix != ".pyc") < 3e6


def test_digits_knows_digits_that_it_has_not_seen():
    model = shipped.load("digits")
    assert isinstance(model, InformationPursuitClassifier)
    data = datasets.digits()
    assert model.score(data.x_test, data.y_test) > 0.9
    assert model.explain(data.x_test).length.mean() < 5


def test_tumours_knows_rows_that_it_has_not_seen():
    model = shipped.load("tumours")
    _, _, rows, labels = shipped.tumours()
    trace = model.pursuit_.run(rows)
    assert (trace.predictions == labels).mean() > 0.9
    assert trace.length.mean() < 4
    assert (model.pursuit_.label_name, model.pursuit_.calibrated) == ("tumour", True)
    assert sum(file.stat().st_size for file in (FOLDER / "tumours").iterdir()) < 300_000


def test_making_digits_gives_what_is_shipped(tmp_path):
    make.main(["digits", "--out", str(tmp_path)])
    ours, theirs = (
        shipped.open_model(folder).pursuit_.model.probs for folder in (FOLDER / "digits", tmp_path / "digits")
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_make_refuses_an_unknown_name(capsys):
    with pytest.raises(SystemExit):
        make.main(["cats"])
    assert "'cats' is none of digits, tumours, mnist" in capsys.readouterr().err


def test_mnist_knows_what_it_draws(digit_pursuit):
    """Its own pictures, black and white: the classes are where they should be."""
    levels = shipped.read_samples(FOLDER / "mnist")
    rows = np.arange(0, len(levels), 1000)
    images = 255.0 * (levels[rows] >= shipped.SHADES / 2).reshape(-1, 28, 28)
    trace = digit_pursuit.run(images)
    assert (trace.predictions == rows // shipped.N_SAMPLES).mean() > 0.9


@pytest.mark.data
def test_mnist_knows_digits_that_it_has_not_seen(digit_pursuit):
    try:
        data = datasets.mnist()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    trace = digit_pursuit.run(data.x_test[:200])
    assert (trace.predictions == data.y_test[:200]).mean() > 0.92
    assert trace.length.mean() < 7


def test_each_can_be_asked_with_any_answers(digit_pursuit):
    for pursuit in (shipped.load("animals"), shipped.load("digits").pursuit_, digit_pursuit):
        session = pursuit.session()
        values = np.random.default_rng(0).integers(2, size=(1, len(pursuit.queries.variables)))
        while session.question is not None and len(session.history) < 6:
            session.answer(pursuit.queries.answers_of(values, np.array([session.question.index]))[0])
        assert session.history
        assert session.posterior.sum() == pytest.approx(1)


def test_pictures_that_are_damaged_are_refused(tmp_path):
    whole = (FOLDER / "mnist" / shipped.SAMPLES).read_bytes()
    for content in (whole[:1000], b"", whole[:5000] + bytes(1000) + whole[6000:]):
        (tmp_path / shipped.SAMPLES).write_bytes(content)
        with pytest.raises(ModelFormatError, match="install infopursuit again"):
            shipped.read_samples(tmp_path)
    make.save_samples(np.zeros((10, 784)), tmp_path)
    with pytest.raises(ModelFormatError, match="it holds 7840 pixels"):
        shipped.read_samples(tmp_path)
