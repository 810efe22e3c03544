"""Columns of texts that were meant to be numbers, and single-precision numbers as people write them."""

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.queries.frames import read_table


def test_one_cell_that_is_no_number_is_named():
    cells = [str(i / 4) for i in range(60)]
    cells[7] = "unknown"
    with pytest.warns(UserWarning, match=r"'size'.*59 of 60.*'unknown'"):
        ip.queries.columns(pd.DataFrame({"size": cells, "kind": list("ab") * 30}), keep=["size"])


@pytest.mark.parametrize("cells", [["1", "2", "x"] * 20, ["a", "b", "c"] * 20])
def test_categories_are_no_cause_for_a_warning(cells):
    ip.queries.columns(pd.DataFrame({"size": cells, "kind": list("ab") * 30}))


def test_single_precision_is_read_as_it_is_written():
    written = np.array([33.6, 0.1, -1e-7, 1234567.0, 0.0, np.nan, 1 / 3, 3e38])
    for X in (written.astype(np.float32)[:, None], pd.DataFrame({"a": written.astype(np.float32)})):
        found = read_table(X).column(0).numbers()
        np.testing.assert_array_equal(found.astype(np.float32), written.astype(np.float32))
        assert found[:5].tolist() == written[:5].tolist()
