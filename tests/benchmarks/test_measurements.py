"""The measurements run, and write what they say with the command, the commit and the machine."""

import json

import numpy as np

from benchmarks import speed
from benchmarks.bench import main


def strokes(n, rng):
    """Small images of two kinds: a bar down or a bar across, with specks."""
    labels = rng.integers(0, 2, n)
    images = rng.random((n, 6, 6)) < 0.05
    for image, label in zip(images, labels, strict=True):
        where = rng.integers(1, 5)
        if label:
            image[:, where] = True
        else:
            image[where, :] = True
    return images.astype(np.uint8), labels


def test_bench(tmp_path, monkeypatch, capsys):
    images, labels = strokes(260, np.random.default_rng(0))
    monkeypatch.setattr(speed, "_images", lambda: (images, labels, "made up"))
    # these take minutes, and have tests of their own
    monkeypatch.setattr(speed, "scaling", lambda say: {})
    monkeypatch.setattr(speed, "_step_times", lambda say: None)
    assert main(["--out", str(tmp_path), "--histories", "5"]) == 0
    told = capsys.readouterr().out
    result = json.loads((tmp_path / "bench.json").read_text())
    assert "times faster than enumerating" in told
    assert result["contraction"]["largest_difference_nats"] < 1e-5
    assert result["short_cuts"]["screening"]["16"]["mean_loss_nats"] >= 0
    assert result["short_cuts"]["screening"]["128"]["miss_rate"] == 0  # there are only sixteen patches
    assert {"commit", "processor", "cores", "torch"} <= set(result["machine"])
