"""All data sets of the experiments by name."""

import pytest

from benchmarks import datasets
from benchmarks.datasets import ALIASES, LOADERS


def test_every_loader_is_public_under_its_name():
    assert sorted(LOADERS) == list(datasets.NAMES)
    for name, loader in LOADERS.items():
        assert getattr(datasets, name) is loader


def test_other_names_lead_somewhere_and_hide_nothing():
    assert set(ALIASES.values()) <= set(LOADERS)
    assert not set(ALIASES) & set(LOADERS)


@pytest.mark.parametrize("name", [name for name in datasets.NAMES if name not in ("digits", "breast_cancer")])
def test_no_file_is_an_error_that_names_the_folder_and_a_page(name, folder):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name)
    assert str(folder) in str(caught.value)
    assert "http" in str(caught.value)
    assert "INFOPURSUIT_DATA" in str(caught.value)
