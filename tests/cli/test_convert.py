"""``infopursuit convert``: older models in the current format, tried before they are kept."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import infopursuit as ip
from infopursuit import cli
from infopursuit.checks import pursuit_of
from infopursuit.cli.convert import compare
from infopursuit.model_files import VERSION, own_checksum

DATA = Path(__file__).parent.parent / "data"
OLD = sorted(file.parent for file in DATA.glob("model_v*/*/manifest.json"))


@pytest.mark.parametrize("old", OLD, ids=lambda old: f"{old.parent.name} {old.name}")
def test_older_models_are_converted_and_ask_the_same(old, tmp_path, capsys):
    new = tmp_path / "deeper" / "new"
    assert cli.main(["convert", str(old), str(new)]) == 0
    assert f"format {old.parent.name[-1]} to {VERSION}" in capsys.readouterr().out
    assert json.loads((new / "manifest.json").read_text())["version"] == VERSION
    expected = json.loads((old.parent / f"{old.name}.json").read_text())
    X = np.array(expected["X"], dtype=expected.get("dtype", "float64"))
    one, other = (pursuit_of(ip.load(folder)).run(X, progress=False) for folder in (old, new))
    assert one.queries.tolist() == other.queries.tolist()
    assert one.stop_reason.tolist() == other.stop_reason.tolist()
    np.testing.assert_allclose(one.posteriors, other.posteriors, atol=1e-9)
    assert [file.name for file in new.parent.iterdir()] == ["new"]


def test_what_cannot_be_converted_is_told_and_leaves_nothing(tmp_path, capsys):
    assert cli.main(["convert", str(OLD[0]), str(OLD[1])]) == 2
    assert "is there already" in capsys.readouterr().err
    (tmp_path / "newer").mkdir()
    manifest = json.loads((OLD[0] / "manifest.json").read_text()) | {"version": VERSION + 1}
    (tmp_path / "newer" / "manifest.json").write_text(json.dumps(manifest | {"sha256": own_checksum(manifest)}))
    assert cli.main(["convert", str(tmp_path / "newer"), str(tmp_path / "new")]) == 2
    assert f"has format version {VERSION + 1}, newer than {VERSION}; update infopursuit" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["newer"]


def test_a_model_that_asks_otherwise_is_found():
    pursuit = ip.load(DATA / "model_v2" / "pursuit")
    assert compare(pursuit, pursuit) > 10
    with pytest.raises(ValueError, match="asks otherwise"):
        compare(pursuit, replace(pursuit, stopping=ip.MaxQueries(2)))
    with pytest.raises(ValueError, match="asks otherwise"):
        compare(pursuit, replace(pursuit, calibrator=ip.TemperatureScaling(2.0)))
