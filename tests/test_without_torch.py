"""The package without its extras: a table is fitted, asked, saved and served where torch and the like are missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import infopursuit

SOURCES = Path(infopursuit.__file__).parents[1]
BLOCK = """
import sys
for name in ("torch", "numba", "matplotlib", "pandas", "polars", "ray"):
    assert name not in sys.modules, name


class Missing:  # not None in sys.modules: scipy takes what it finds there for a module
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "numba", "matplotlib", "pandas", "polars", "ray"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
"""
TABLE = """
import numpy as np
import infopursuit as ip
from infopursuit.testing import check_belief, check_strategy

rng = np.random.default_rng(0)
X = np.stack([rng.uniform(20, 80, 240).round(), rng.integers(2, size=240), rng.integers(3, size=240)], axis=1)
y = np.where((X[:, 0] > 50) ^ (X[:, 1] == 1), "ill", "well")
"""
FITTED = (
    TABLE
    + """
clf = ip.InformationPursuitClassifier(strategy="table", stopping=ip.Confidence(0.05) | ip.MaxQueries(6)).fit(X, y)
"""
)


def run(code, tmp_path, block=BLOCK):
    """Run code in a process of its own, where nothing of the extras can be imported."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block + code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_imports_none_of_them(tmp_path):
    names = "torch", "numba", "matplotlib", "pandas", "polars", "ray", "scipy.stats"
    out = run(f"import sys, infopursuit\nprint([n for n in {names} if n in sys.modules])", tmp_path, block="")
    assert out.strip() == "[]"


def test_the_default_strategy_needs_none_of_them(tmp_path):
    out = run(
        TABLE
        + """
from functools import partial
from infopursuit.estimator import classifier as estimator
from infopursuit.models.networks.masked import Training

estimator.Hybrid = partial(ip.Hybrid, n_members=2, training=Training(max_steps=500))
clf = ip.InformationPursuitClassifier().fit(X, y)
assert set(clf.tuning_.candidates) == {"generative", "hybrid"}
assert clf.score(X, y) > 0.8
hybrid = ip.InformationPursuitClassifier(strategy=estimator.Hybrid()).fit(X, y)
hybrid.save("model")
assert (ip.load("model").predict(X) == hybrid.predict(X)).all()
print("done")
""",
        tmp_path,
    )
    assert out.splitlines()[-1] == "done"


def test_a_table_is_fitted_explained_saved_and_asked(tmp_path):
    out = run(
        FITTED
        + """
assert clf.score(X, y) > 0.8
trace = clf.explain(X)
assert "question" in str(trace[0])
clf.calibrate(X, y, target=0.6, coverage=0.8)
assert clf.predict_set(X).any(axis=1).all()
clf.fit_novelty(X)
assert clf.novelty_pvalues(X[:3]).shape == (3,)
ip.save(clf, "model")
again = ip.load("model")
assert (again.predict(X) == clf.predict(X)).all()
assert "Model card" in again.model_card()
session = again.session()
while session.question is not None:
    session.answer(session.question.choices[0])
np.testing.assert_allclose(session.posterior.sum(), 1)
check_belief(clf.pursuit_.belief, clf.queries_)
check_strategy(clf.pursuit_, X[:4])
print("done")
""",
        tmp_path,
    )
    assert out.splitlines()[-1] == "done"


def test_every_strategy_for_tables_and_words_and_images(tmp_path):
    out = run(
        TABLE
        + """
for strategy in ("table", "empirical", ip.models.latent_classes(2)):
    assert ip.InformationPursuitClassifier(strategy=strategy).fit(X, y).predict(X[:2]).shape == (2,)
words = ip.InformationPursuitClassifier(ip.queries.words(min_count=1)).fit(["a film", "the law", "a film"] * 4, [0, 1,
0] * 4)
assert words.predict(["film"]).tolist() == [0]
images = (rng.random((30, 6, 6)) < 0.5).astype(float)
images[:15, :, :3] = 1
clf = ip.InformationPursuitClassifier(stopping=ip.MaxQueries(3)).fit(images, np.arange(30) < 15)
assert clf.explain(images[:2]).length.max() <= 3
print("done")
""",
        tmp_path,
    )
    assert out.splitlines()[-1] == "done"


def test_a_model_is_served(tmp_path):
    out = run(
        FITTED
        + """
import warnings
with warnings.catch_warnings(action="ignore"):  # of a library about another library
    from fastapi.testclient import TestClient
from infopursuit.app.server.app import create_app
from infopursuit.app.server.registry import load_models

ip.save(clf, "model")
with TestClient(create_app(load_models(["table=model"]))) as client:
    print(client.get("/v1/models").json())
    found = client.post("/v1/models/table/next", json={"history": []})
    assert found.status_code == 200, found.text
""",
        tmp_path,
    )
    assert "table" in out


@pytest.mark.parametrize("name", ["vae", "VAE", "MLPArchitecture", "train"])
def test_what_needs_torch_says_how_to_get_it(name, tmp_path):
    code = f"""
import infopursuit as ip
try:
    ip.models.{name}
except ImportError as error:
    print(error)
"""
    assert "infopursuit[networks]" in run(code, tmp_path)


@pytest.mark.parametrize("call", ['ip.InformationPursuitClassifier(strategy="vae").fit(X, y)', "ip.strategies.SMC"])
def test_a_strategy_that_needs_torch_says_so_too(call, tmp_path):
    assert "infopursuit[networks]" in run(
        TABLE + f"try:\n    {call}\nexcept ImportError as error:\n    print(error)\n", tmp_path
    )
