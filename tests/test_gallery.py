"""The gallery: every script runs, and draws the picture that the pages show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples/gallery").glob("*.py"))
PICTURES = ROOT / "docs/images/gallery"
PAGE = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
LARGEST = 100_000
"""Bytes of a picture."""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_draws_its_picture(script, tmp_path):
    file = tmp_path / "drawn.png"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-W", "error", script, file],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        cwd=tmp_path,
        env={**environment, "INFOPURSUIT_DATA": str(tmp_path / "none")},  # nothing but what comes along
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["drawn.png"]
    drawn, shown = (Image.open(path).convert("L") for path in (file, PICTURES / f"{script.stem}.png"))
    assert np.abs(np.subtract(drawn.size, shown.size)).max() <= 40, "make gallery draws the pictures anew"
    both = [np.asarray(picture.resize((60, 40)), dtype=float) for picture in (drawn, shown)]
    assert np.abs(both[0] - both[1]).mean() < 6, "make gallery draws the pictures anew"
    if script.stem == "digit":
        assert done.stdout.strip() in (ROOT / "docs/index.md").read_text(encoding="utf-8")


def test_pictures_of_other_scripts_differ():
    """Else the comparison above would pass whatever is drawn."""
    small = {
        p.stem: np.asarray(Image.open(p).convert("L").resize((60, 40)), dtype=float) for p in PICTURES.glob("*.png")
    }
    apart = [np.abs(small[a] - small[b]).mean() for a in small for b in small if a < b]
    assert min(apart) > 8


def test_every_script_has_a_picture_and_a_place_on_the_page():
    names = [script.stem for script in SCRIPTS]
    assert len(names) >= 7
    assert sorted(path.stem for path in PICTURES.iterdir()) == names
    assert sorted(re.findall(r"\(images/gallery/(\w+)\.png\)", PAGE)) == names
    assert sorted(re.findall(r'--8<-- "examples/gallery/(\w+)\.py"', PAGE)) == names


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_are_short_and_pictures_small(script):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert text.split('"""')[1] in PAGE
    assert (PICTURES / f"{script.stem}.png").stat().st_size < LARGEST
