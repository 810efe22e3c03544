"""Comparing the traces that jobs have written."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FLOATS = ("probability", "p_value")


def assert_same_traces(one, other):
    """The same files with the same rows: queries, answers, lengths and reasons equal, numbers within 1e-9."""
    files = [sorted((Path(folder) / "traces.parquet").iterdir()) for folder in (one, other)]
    assert [file.name for file in files[0]] == [file.name for file in files[1]]
    for mine, theirs in zip(*files, strict=True):
        rows, others = (pd.read_parquet(file) for file in (mine, theirs))
        assert rows.columns.tolist() == others.columns.tolist()
        for name in rows.columns.drop("steps"):
            if name in FLOATS:
                np.testing.assert_allclose(rows[name].astype(float), others[name].astype(float), rtol=0, atol=1e-9)
            else:
                assert rows[name].tolist() == others[name].tolist(), name
        for text, wanted in zip(rows["steps"], others["steps"], strict=True):
            assert json.loads(text) == [
                {k: pytest.approx(v, rel=0, abs=1e-9) if isinstance(v, float) else v for k, v in step.items()}
                for step in json.loads(wanted)
            ]
