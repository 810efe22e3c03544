"""Everything that has a seed, done once and written as JSON; `test_reproducibility` runs it in several processes.

What is written of a result: ``same``, what must be equal, and ``numbers``, what must be close.
"""

import json
import logging
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from soundness import DECISIONS, NUMBERS

import infopursuit as ip
from infopursuit.evaluation.evaluate import evaluate
from infopursuit.models import VAE, Blur, EmpiricalModel, Flip, MLPArchitecture, Training, empirical, latent_classes
from infopursuit.models.networks import masked
from infopursuit.models.networks.training import train
from infopursuit.strategies import SMC, Langevin, Pruned
from quadrature import mixed, yes_no

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(160, 4))
TABLE[RNG.random(TABLE.shape) < 0.05] = np.nan
MARKS = (RNG.random((700, 12)) < RNG.random((700, 1))).astype(np.int64)
LABELS = (np.nan_to_num(TABLE[:, 0]) + np.nan_to_num(TABLE[:, 1]) > 0).astype(int)
KINDS = (MARKS[:, 0] + MARKS[:, 1] + (RNG.random(700) < 0.1)) % 3
IMAGES = (RNG.random((600, 36)) < 0.4).astype(np.int64)


def of_trace(trace):
    same = {name: getattr(trace, name).tolist() for name in DECISIONS}
    return {"same": same, "numbers": [np.nan_to_num(getattr(trace, name)).ravel().tolist() for name in NUMBERS]}


def of_model(clf):
    """The tables of a model that was saved and loaded again."""
    with tempfile.TemporaryDirectory() as folder:
        ip.save(clf, folder)
        model = ip.load(folder).pursuit_.model
    table = model.block(slice(0, model.variables.n_slots))
    return {"same": list(model.variables.sizes), "numbers": [np.exp(model.log_prior).tolist(), table.ravel().tolist()]}


def of_numbers(*arrays):
    return {"same": [], "numbers": [np.ravel(array).astype(np.float64).tolist() for array in arrays]}


def of_data(data):
    """JSON data without what it took: a clock is the one thing that is never the same."""
    same, numbers = [], []

    def walk(part):
        if isinstance(part, dict):
            for key in sorted(part.keys() - {"seconds"}):
                same.append(key)
                walk(part[key])
        elif isinstance(part, (list, tuple)):
            for each in part:
                walk(each)
        elif isinstance(part, float):
            numbers.append(part)
        else:
            same.append(str(part))

    walk(data)
    return {"same": same, "numbers": [np.nan_to_num(numbers).tolist()]}


def learnt():
    """Fitting, asking, calibrating, novelty, evaluating."""
    found = {}
    marks = ip.queries.concepts([f"mark {a}" for a in range(12)])
    for name, learner in (("mixture", latent_classes(3)), ("examples", empirical(Flip((0.1, 0.5))))):
        clf = ip.InformationPursuitClassifier(marks, learner, random_state=1).fit(MARKS[:400], KINDS[:400])
        found[f"{name} model"] = of_model(clf)
        found[f"{name} trace"] = of_trace(clf.explain(MARKS[400:440]))
    found["novelty"] = of_numbers(clf.fit_novelty(n=50).novelty_pvalues(MARKS[400:430]))
    clf.calibrate(MARKS[400:], KINDS[400:], target=0.5)
    found["calibrated trace"] = of_trace(clf.explain(MARKS[:20]))
    columns = ip.InformationPursuitClassifier(strategy="table", random_state=2).fit(TABLE[:100, :2], LABELS[:100])
    found["chosen model"] = of_model(columns)
    found["evaluation"] = of_data(asdict(evaluate(columns, TABLE[100:, :2], LABELS[100:])))
    return found


def asked():
    """Pursuits of every belief, on float64 models."""
    found = {}
    patches = ip.queries.patches((6, 6), size=3)
    model = EmpiricalModel(IMAGES, np.arange(600) % 3, Blur(shape=(6, 6)), dtype="float64")
    options = {"exact_gains": False, "n_states": 200, "n_screened": 6}
    found["some states"] = of_trace(
        ip.generative_pursuit(model, patches, stopping=ip.MaxQueries(3), **options).run_values(IMAGES[:12])
    )
    return found


def asked_float32():
    """Pursuits with kernels in float32."""
    found = {}
    hybrid = ip.Hybrid(n_members=2, training=masked.Training(max_steps=100))
    clf = ip.InformationPursuitClassifier(strategy=hybrid, random_state=2).fit(TABLE[:120], LABELS[:120])
    found["hybrid"] = of_trace(clf.explain(TABLE[120:]))
    found["tuned"] = of_data(asdict(clf.tuning_))
    for known in (yes_no(2, seed=5), mixed(1, seed=4)):
        for sampler in (SMC(n_draws=600, min_ess=30, n_own=24, n_moves=2), Langevin(16, 4, 2)):
            rules = ip.Confidence(0.05) | ip.MaxQueries(3)
            pursuit = ip.generative_pursuit(known.model, known.queries, sampler, rules, seed=3)
            found[f"{sampler.kind} {len(known.queries)}"] = of_trace(pursuit.run_values(known.inputs(3, seed=9)))
    patches = ip.queries.patches((6, 6), size=3)
    model = EmpiricalModel(IMAGES, np.arange(600) % 3, Blur(shape=(6, 6)))
    found["pruned"] = of_trace(
        ip.generative_pursuit(model, patches, Pruned(), ip.MaxQueries(3)).run_values(IMAGES[:12])
    )
    return found


def trained():
    """The weights of a network, and what stands in its checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "checkpoint"
        first = VAE((2,) * 36, [1 / 3] * 3, MLPArchitecture((16,)), 3)
        data, settings = (IMAGES[:200], np.arange(200) % 3), Training(epochs=2, batch_size=50)
        model, again = (train(first, *data, settings, checkpoint=file)[0] for _ in range(2))
    weights = [[tensor.numpy() for tensor in each.networks.state_dict().values()] for each in (model, again)]
    return {"weights": of_numbers(*weights[0]), "from a checkpoint": of_numbers(*weights[1])}


if __name__ == "__main__":
    logging.disable()
    torch.set_num_threads(int(sys.argv[1]))
    made = {"learnt": learnt(), "asked": asked(), "asked_float32": asked_float32(), "trained": trained()}
    json.dump(made, sys.stdout)
