"""Everything that has a seed, done once and told as digests; `test_reproducibility` runs it in several processes."""

import dataclasses
import hashlib
import json
import logging
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from soundness import FIELDS

import infopursuit as ip
from infopursuit.beliefs import SMC, Langevin
from infopursuit.evaluation.evaluate import evaluate
from infopursuit.models import (
    VAE,
    Blur,
    EmpiricalModel,
    Flip,
    MLPArchitecture,
    Training,
    UnionModel,
    empirical,
    latent_classes,
)
from infopursuit.models.training import train
from quadrature import mixed, yes_no

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(160, 4))
TABLE[RNG.random(TABLE.shape) < 0.05] = np.nan
MARKS = (RNG.random((700, 12)) < RNG.random((700, 1))).astype(np.int64)
LABELS = (np.nan_to_num(TABLE[:, 0]) + np.nan_to_num(TABLE[:, 1]) > 0).astype(int)
KINDS = (MARKS[:, 0] + MARKS[:, 1] + (RNG.random(700) < 0.1)) % 3
IMAGES = (RNG.random((600, 36)) < 0.4).astype(np.int64)


def digest(*things):
    """A name for arrays, bytes and JSON data, down to the last bit."""
    found = hashlib.sha256()
    for thing in things:
        found.update(thing if isinstance(thing, bytes) else _bytes(thing))
    return found.hexdigest()[:16]


def _bytes(thing):
    if isinstance(thing, np.ndarray) and thing.dtype.kind != "U":
        return np.ascontiguousarray(thing).tobytes()
    return json.dumps(thing.tolist() if isinstance(thing, np.ndarray) else thing, sort_keys=True, default=str).encode()


def untimed(data):
    """JSON data without what it took: a clock is the one thing that is never the same."""
    if isinstance(data, dict):
        return {key: untimed(value) for key, value in data.items() if key != "seconds"}
    return [untimed(each) for each in data] if isinstance(data, (list, tuple)) else data


def of_trace(trace):
    return digest(*(getattr(trace, name) for name in FIELDS))


def of_folder(thing):
    """A saved model, every file of it."""
    with tempfile.TemporaryDirectory() as folder:
        ip.save(thing, folder)
        return digest(*(file.name.encode() + file.read_bytes() for file in sorted(Path(folder).iterdir())))


def learnt():
    """Fitting, asking, calibrating, knowing, evaluating, linting."""
    found = {}
    marks = ip.queries.concepts([f"mark {a}" for a in range(12)])
    for name, learner in (("mixture", latent_classes(3)), ("examples", empirical(Flip((0.1, 0.5))))):
        clf = ip.InformationPursuitClassifier(marks, learner, random_state=1).fit(MARKS[:400], KINDS[:400])
        found[f"{name} model"] = of_folder(clf)
        found[f"{name} trace"] = of_trace(clf.explain(MARKS[400:460]))
    found["unlike"] = digest(clf.fit_novelty(n=50).novelty_pvalues(MARKS[400:430]))
    clf.calibrate(MARKS[400:], KINDS[400:], target=0.5)
    found["calibrated model"] = of_folder(clf)
    found["calibrated trace"] = of_trace(clf.explain(MARKS[:20]))
    columns = ip.InformationPursuitClassifier(random_state=2).fit(TABLE[:100, :2], LABELS[:100])
    found["chosen model"] = of_folder(columns)
    found["evaluation"] = digest(untimed(dataclasses.asdict(evaluate(columns, TABLE[100:, :2], LABELS[100:]))))
    found["lint"] = digest(ip.lint(None, TABLE[:40, :2], LABELS[:40], model=False).to_json().encode())
    return found


def asked():
    """Pursuits of every posterior."""
    found = {}
    for known in (yes_no(2, seed=5), mixed(1, seed=4)):
        for sampler in (SMC(n_draws=600, min_ess=30, n_own=24, n_moves=2), Langevin(16, 4, 2)):
            rules = ip.Confidence(0.05) | ip.MaxQueries(3)
            trace = ip.Pursuit.of(known.model, known.queries, sampler, rules, seed=3).run_values(
                known.inputs(3, seed=9)
            )
            found[f"{sampler.kind} {len(known.queries)}"] = of_trace(trace)
    patches = ip.queries.patches((6, 6), size=3)
    model = EmpiricalModel(IMAGES, np.arange(600) % 3, Blur(shape=(6, 6)))
    other = EmpiricalModel(IMAGES[::-3], np.arange(200) % 3, Blur((0.4,), (0.01,), shape=(6, 6)))
    for name, posterior, finite in (
        ("some states", "exact", model),
        ("bank", "bank", model),
        ("pool", Pruned(pooled=True), UnionModel([model, other])),
    ):
        options = {"exact_gains": False, "n_states": 200, "n_screened": 6} if posterior == "exact" else {}
        pursuit = ip.Pursuit.of(finite, patches, posterior, ip.MaxQueries(3), **options)
        found[name] = of_trace(pursuit.run_values(IMAGES[:20]))
    return found


def trained():
    """The weights of a network, and what stands in its checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "checkpoint"
        first = VAE((2,) * 36, [1 / 3] * 3, MLPArchitecture((16,)), 3)
        data, settings = (IMAGES[:200], np.arange(200) % 3), Training(epochs=2, batch_size=50)
        model, again = (train(first, *data, settings, checkpoint=file)[0] for _ in range(2))
    weights = [[tensor.numpy() for tensor in each.networks.state_dict().values()] for each in (model, again)]
    return {"weights": digest(*weights[0]), "from a checkpoint": digest(*weights[1])}


if __name__ == "__main__":
    logging.disable()
    torch.set_num_threads(int(sys.argv[1]))
    json.dump({"learnt": learnt(), "asked": asked(), "trained": trained()}, sys.stdout)
