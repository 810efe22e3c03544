"""Tests run on one thread, in a known environment, and hypothesis draws the same examples every time.

``HYPOTHESIS_PROFILE=nightly`` explores instead: new examples each time, and many of them (``make nightly``). This file
also puts ``tests/`` on the path, so that every test can import `enumerator` and `worlds`.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from functools import partial

import pytest
import torch
from hypothesis import settings

KNOWN_ENVIRONMENT = {
    "TERM": "xterm",
    "LANG": "C.UTF-8",
    "NO_PROXY": "127.0.0.1,localhost",  # the servers of the tests are on this machine
    "no_proxy": "127.0.0.1,localhost",
}
UNSET = (
    "COLUMNS",
    "FORCE_COLOR",
    "INFOPURSUIT_TOKEN",
    "LC_ALL",
    "LC_MESSAGES",
    "LINES",
    "NO_COLOR",
    "RAY_ADDRESS",
)
# Once, before the first test: no test changes the environment.
os.environ.update(KNOWN_ENVIRONMENT)
for variable in UNSET:
    os.environ.pop(variable, None)

torch.set_num_threads(1)
settings.register_profile("ci", derandomize=True, deadline=None, database=None, max_examples=40)
settings.register_profile("nightly", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def quick_hybrid(monkeypatch):
    """The default strategy with networks that are trained for few steps."""
    from infopursuit.models.networks.masked import Training
    from infopursuit.strategies.hybrid.hybrid import Hybrid

    monkeypatch.setattr("infopursuit.estimator.candidates.Hybrid", partial(Hybrid, training=Training(max_steps=150)))
