"""The warning of a novel input: in the terminal, over HTTP, and in a picture."""

import io
from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.app.cli import main
from infopursuit.calibration.novelty import NoveltyReference


@pytest.fixture(scope="module")
def pursuit():
    """Two kinds that differ in one thing; four other things are as good as certain."""
    rare = 0.002
    model = ip.models.TableModel([0.5, 0.5], None, [[0.999, rare, rare, rare, rare], [0.001, rare, rare, rare, rare]])
    names = ip.queries.concepts(["wings", "wheels", "engine", "roots", "keys"])
    made = ip.generative_pursuit(model, names, stopping=ip.MaxQueries(3), classes=["bird", "fish"])
    return replace(made, novelty=NoveltyReference.from_model(made, 499))


def test_the_end_of_a_dialogue_is_a_warning(pursuit, tmp_path, capsys):
    ip.save(pursuit, tmp_path / "model")
    answers = io.StringIO("yes\nyes\nyes\n")
    assert main(["ask", str(tmp_path / "model")], stdin=answers) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "bird" in said
    assert "Novelty warning (p-value 0.002): such answers are improbable; do not trust the label." in said


def test_the_server_says_so_too(pursuit):
    pytest.importorskip("pydantic")
    from infopursuit.app.server.inference import next_step
    from infopursuit.app.server.language import words_for
    from infopursuit.app.server.registry import ServedModel
    from infopursuit.app.server.schemas import NextResponse

    served = ServedModel("kinds", "two kinds", pursuit)
    for said, warned in ((1, True), (0, False)):
        history = ((0, (1,)),)
        for _ in range(2):
            told = NextResponse(**next_step(served, history, (), (), 3, False, False, words_for("en")))
            assert np.isfinite(told.why.gain.nats)
            assert told.warning is None
            history = (*history, (pursuit.queries.names.index(told.question.name), (said,)))
        last = NextResponse(**next_step(served, history, (), (), 3, True, False, words_for("en")))
        assert last.question is None
        assert last.stop_reason == "max_queries"
        assert ("do not trust the label" in (last.warning or "")) == warned
        assert (last.explanation["p_value"] <= 0.05) == warned


def test_a_picture_says_so_in_its_headline():
    pytest.importorskip("matplotlib")
    from infopursuit.presentation.plots import image_trace

    model = ip.models.TableModel([0.5, 0.5], None, [[0.99] * 2 + [0.01] * 14, [0.01] * 16])
    made = ip.generative_pursuit(model, ip.queries.patches((4, 4), size=2), stopping=ip.MaxQueries(4))
    made = replace(made, novelty=NoveltyReference.from_model(made, 99))
    image = np.ones((4, 4))
    figure = image_trace(image, made.run([image])[0])
    assert any("novel, p-value 0.01" in text.get_text() for text in figure.texts)
