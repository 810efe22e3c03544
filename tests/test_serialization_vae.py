"""Saved VAEs: the same traces, and nothing believed without a check."""

import copy
import json
import logging
import os
import subprocess
import sys

import numpy as np
import pytest
import safetensors.torch
import torch

import infopursuit as ip
from benchmarks.paper_architecture import PaperArchitecture
from infopursuit.models import ConvArchitecture, MLPArchitecture, Training
from infopursuit.models.networks.autoencoder import log_evidence
from infopursuit.models.parts import model_from_parts, model_to_parts
from infopursuit.strategies import SMC, Langevin
from infopursuit.strategies.generative import particles
from test_serialization import (
    SOURCES,
    assert_same,
    attempt,
    explain,
    files_of,
    marks,
    read,
    replace_one,
    scramble,
    table,
    write,
)

NAMES = [f"mark {i}" for i in range(9)]
SHORT = Training(epochs=2, batch_size=16)
FEW = SMC(n_draws=40, n_own=8, n_moves=2)
CHAINS = Langevin(n_chains=8, n_steps=4, burn_in=2, kernel="ula")


# ---- one of each ----------------------------------------------------------------------------------------------------


def classifier(queries, architecture, belief, **options):
    learner = ip.models.vae(architecture, 2, SHORT)
    options = {"stopping": ip.Confidence(0.05) | ip.MaxQueries(4), **options}
    return lambda X, y: ip.InformationPursuitClassifier(queries, learner, belief, **options).fit(X, y)


def pictures(n=20):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    X = np.zeros((n, 8, 9))
    X[y == 0, :, :4], X[y == 1, :, 5:] = 1, 1
    return np.abs(X - (rng.random(X.shape) < 0.05)), y


def trained_by_hand(n_classes=3, sizes=(2,) * 9, architecture=None, latent_dim=2, seed=0):
    """Weights that are not those of a new model, and statistics of batch norm that are not 0 and 1."""
    rng = np.random.default_rng(seed)
    model = ip.models.VAE(
        sizes, np.full(n_classes, 1 / n_classes), architecture or MLPArchitecture((8, 4)), latent_dim, seed=seed
    )
    values = np.stack([rng.integers(-1, size, 40) for size in sizes], axis=1)
    return ip.models.train(model, values, np.arange(40) % n_classes, Training(epochs=1, batch_size=10))[0]


def pursuit_alone(X, y):
    rule = ip.Confidence(0.1, patience=2) | ip.MaxQueries(3)
    options = {"n_states": 16, "n_screened": 3, "memory_limit": 2**20, "exact_gains": False}
    model, classes = trained_by_hand(), ["a", "b", "c"]
    return ip.generative_pursuit(model, ip.queries.concepts(NAMES), CHAINS, rule, 1, 5, classes=classes, **options)


CONCEPTS = ip.queries.concepts(NAMES)
THINGS = {
    "concepts": (marks, classifier(CONCEPTS, MLPArchitecture((8, 4)), FEW, random_state=3)),
    "columns": (table, classifier(None, MLPArchitecture((8,), batch_norm=False), FEW, dtype="float64")),
    "patches": (pictures, classifier(None, ConvArchitecture((8, 9), (4, 4), 8), SMC(n_draws=20, min_ess=0.0))),
    "pursuit": (marks, pursuit_alone),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Every thing fitted and saved once: name to (folder, thing, inputs)."""
    root = tmp_path_factory.mktemp("vaes")
    found = {}
    for name, (make, fit) in THINGS.items():
        X, y = make()
        thing = fit(X, y)
        ip.save(thing, root / name)
        found[name] = (root / name, thing, X[:12])
    return found


def decoder_of(model):
    return {name: weight for name, weight in model.networks.state_dict().items() if name.startswith("decoder.")}


def assert_same_decoder(one, two):
    one, two = decoder_of(one), decoder_of(two)
    assert one.keys() == two.keys()
    for name, weight in one.items():
        assert torch.equal(weight, two[name]), name


# ---- folders --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", THINGS)
def test_what_comes_back_gives_the_same_trace(name, saved):
    folder, thing, X = saved[name]
    again = ip.load(folder)
    assert type(again) is type(thing)
    trace = explain(thing, X)
    assert trace.length.max() > 0
    assert_same(trace, explain(again, X))
    np.testing.assert_allclose(trace.posterior_errors, explain(again, X).posterior_errors, atol=1e-9)
    np.testing.assert_array_equal(trace.runners_up, explain(again, X).runners_up)


def test_another_process_gives_the_same_posteriors(saved, tmp_path):
    script = (
        "import sys, torch, numpy as np; torch.set_num_threads(1)\n"
        "import infopursuit as ip\n"
        "for folder, inputs, out in zip(*[iter(sys.argv[1:])] * 3):\n"
        "    np.save(out, ip.load(folder).explain(np.load(inputs)).posteriors)\n"
    )
    arguments, expected = [], {}
    for name in ("concepts", "patches"):
        folder, thing, X = saved[name]
        np.save(tmp_path / f"{name}.npy", X)
        arguments += [str(folder), str(tmp_path / f"{name}.npy"), str(tmp_path / f"{name}-out.npy")]
        expected[name] = explain(thing, X).posteriors
    environment = {**os.environ, "PYTHONPATH": str(SOURCES.parent)}
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    for name, posteriors in expected.items():
        np.testing.assert_allclose(np.load(tmp_path / f"{name}-out.npy"), posteriors, atol=1e-5)


@pytest.mark.parametrize("name", THINGS)
def test_saving_what_came_back_writes_the_same_files(name, saved, tmp_path):
    folder = saved[name][0]
    ip.save(ip.load(folder), tmp_path)
    one, two = (json.loads((f / "manifest.json").read_text()) for f in (folder, tmp_path))
    assert one["tensors"] == two["tensors"]
    for part in ("classes", "pursuit"):
        assert one[part] == two[part]
    assert (tmp_path / "CARD.md").read_text() == (folder / "CARD.md").read_text()
    assert sorted(file.name for file in tmp_path.iterdir()) == files_of(tmp_path)


def test_settings_come_back(saved):
    again = ip.load(saved["pursuit"][0])
    assert again.belief.settings == CHAINS
    assert again.acquisition == saved["pursuit"][1].acquisition
    assert (again.acquisition.exact, again.acquisition.n_states, again.acquisition.n_screened) == (False, 16, 3)
    assert (again.seed, again.patience) == (5, 1)
    again = ip.load(saved["concepts"][0])
    assert again.belief == FEW
    assert again.pursuit_.belief.settings == FEW
    assert (again.random_state, again.pursuit_.seed) == (3, 3)
    assert again.model_.architecture == MLPArchitecture((8, 4))
    assert ip.load(saved["columns"][0]).model_.dtype == torch.float64


def test_a_classifier_that_came_back_is_a_classifier(saved):
    folder, clf, X = saved["concepts"]
    again = ip.load(folder)
    prior = [0.8, 0.1, 0.1]
    np.testing.assert_array_equal(again.predict_proba(X, class_prior=prior), clf.predict_proba(X, class_prior=prior))
    session, other = clf.session([("mark 1", 1)]), again.session([("mark 1", 1)])
    assert session.question == other.question
    np.testing.assert_array_equal(session.gains, other.gains)
    assert type(again.fit(*marks()).model_) is ip.models.VAE


def test_names_of_models_and_posteriors_come_back(saved, tmp_path):
    clf = copy.copy(saved["concepts"][1]).set_params(strategy="vae", belief="langevin")
    clf.save(tmp_path)
    again = ip.load(tmp_path)
    assert (again.strategy, again.belief) == ("vae", "langevin")
    assert again.pursuit_.belief.settings == FEW  # what it was fitted with


def test_a_class_that_was_ruled_out_stays_so(saved, tmp_path):
    pursuit = saved["pursuit"][1]
    model = pursuit.model.with_class_prior([0.0, 0.25, 0.75])
    ip.save(ip.generative_pursuit(model, pursuit.queries, FEW), tmp_path)
    assert ip.load(tmp_path).model.class_prior.tolist() == [0.0, 0.25, 0.75]


def test_a_vae_contains_no_training_examples_and_says_so(saved, tmp_path, caplog):
    folder, clf, _ = saved["concepts"]
    with caplog.at_level(logging.WARNING, logger="infopursuit.estimator.saving"):
        clf.save(tmp_path)
    assert not caplog.records
    manifest, payload = read(folder)
    assert manifest["pursuit"]["belief"]["model"]["contains_training_data"] is False
    card = (folder / "CARD.md").read_text()
    for fact in (
        "vae, mlp architecture, 2 latent dimensions, 9 variables",
        "SMC(n_draws=40",
        "not the training examples",
    ):
        assert fact in card
    weights = safetensors.torch.load(payload)
    assert {name.split(".")[0] for name in weights} == {"class_prior", "encoder", "decoder"}
    assert not [name for name, weight in weights.items() if len(marks()[0]) in weight.shape]


class Other(ip.models.VAE):
    """A VAE with more to it than its parts."""


def test_what_cannot_be_saved_is_refused_and_leaves_nothing_behind(saved, tmp_path, monkeypatch):
    model, folder = saved["pursuit"][1].model, tmp_path / "new"
    other = object.__new__(Other)
    other.__dict__.update(model.__dict__)
    with pytest.raises(TypeError, match="cannot save a model of type Other; only tables, empirical models and VAEs"):
        ip.save(ip.generative_pursuit(other, CONCEPTS, FEW), folder)
    monkeypatch.setattr(particles, "MAX_BYTES", 10_000)
    with pytest.raises(ValueError, match=r"belief=SMC.* would take"):
        ip.save(ip.generative_pursuit(model, CONCEPTS, FEW), folder)
    assert not folder.exists()


# ---- parts ----------------------------------------------------------------------------------------------------------

MODELS = {
    "mlp": lambda: trained_by_hand(sizes=(2, 3, 5)),
    "mlp, float64": lambda: trained_by_hand().to(dtype=torch.float64),
    "conv": lambda: trained_by_hand(sizes=(2,) * 72, architecture=ConvArchitecture((8, 9), (4, 4), 8)),
    "paper": lambda: ip.models.VAE((2,) * 784, [0.5, 0.5], PaperArchitecture(), 3),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_vae_comes_back_from_its_parts(name):
    model = MODELS[name]()
    before = torch.get_rng_state()
    again = model_from_parts(*model_to_parts(model))
    assert torch.equal(torch.get_rng_state(), before)
    assert type(again) is type(model)
    assert (again.variables, again.architecture, again.latent_dim) == (
        model.variables,
        model.architecture,
        model.latent_dim,
    )
    assert (again.dtype, again.device) == (model.dtype, model.device)
    np.testing.assert_array_equal(again.class_prior, model.class_prior)
    assert_same_decoder(model, again)
    assert not any(module.training for module in again.networks.children())
    labels = torch.arange(10) % model.n_classes
    draws = [m.draw_prior(labels, torch.Generator().manual_seed(0)) for m in (model, again)]
    assert torch.equal(*draws)
    with torch.no_grad():
        assert torch.equal(model.log_probs(draws[0], labels), again.log_probs(draws[0], labels))
        assert torch.equal(model.log_prior(draws[0], labels), again.log_prior(draws[0], labels))


@pytest.mark.parametrize("name", ["mlp", "mlp, float64", "conv"])
def test_the_encoder_is_kept_in_half_precision(name):
    model = MODELS[name]()
    again = model_from_parts(*model_to_parts(model))
    rows = torch.as_tensor(np.random.default_rng(0).integers(-1, 2, (20, len(model.variables))))
    with torch.no_grad():
        one, two = (m.encode(rows, torch.arange(20) % 3) for m in (model, again))
    for before, after in zip(one, two, strict=True):
        torch.testing.assert_close(before, after, atol=0.01, rtol=0.01)
    one, two = (log_evidence(m, rows[:5], n_draws=400) for m in (model, again))
    np.testing.assert_allclose(one, two, atol=0.02)


def test_an_encoder_with_large_weights_keeps_its_precision():
    model = trained_by_hand()
    with torch.no_grad():
        model.encoder.mean.weight[0, 0] = 1e5
    for name, weight in model_from_parts(*model_to_parts(model)).encoder.state_dict().items():
        assert torch.equal(weight, model.encoder.state_dict()[name])


# ---- damage ---------------------------------------------------------------------------------------------------------


def _change(name, change):
    return lambda tensors: {**tensors, name: change(tensors[name].clone())}


def _put(value):
    def put(tensor):
        tensor.view(-1)[0] = value
        return tensor

    return put


LAST = "decoder.network.1.weight"
NORM = "decoder.network.0.2.running_var"
TENSORS = [
    (_change(LAST, _put(torch.nan)), "holds a number that is not finite"),
    (_change(LAST, _put(torch.inf)), "holds a number that is not finite"),
    (_change("encoder.mean.weight", _put(torch.nan)), "weight 'encoder.mean.weight' holds a number that is not finite"),
    (_change(NORM, _put(-0.5)), "or a negative variance"),
    (_change(LAST, lambda t: torch.full_like(t, 3e38)), "so large that its logits are not finite"),
    (_change(LAST, lambda t: t.T.contiguous()), "size mismatch for decoder.network.1.weight"),
    (_change(LAST, lambda t: t[:-1].contiguous()), r"decoder.network.1.weight: .*\[8, 8\]"),
    (_change(LAST, lambda t: t.flatten()), "size mismatch for decoder.network.1.weight"),
    (_change(LAST, lambda t: t.double()), "is float64; expected float32"),
    (_change(LAST, lambda t: t.half()), "is float16; expected float32"),
    (_change("encoder.mean.weight", lambda t: t.float()), "is float32; expected float16"),
    (_change("decoder.network.0.2.num_batches_tracked", lambda t: t.float()), "is float32; expected int64"),
    (_change("class_prior", _put(-1.0)), "class_prior must be probabilities"),
    (_change("class_prior", _put(torch.nan)), "class_prior must be probabilities"),
    (_change("class_prior", lambda t: t[:2].contiguous()), "tensor 'class_prior' is"),
    (_change("class_prior", lambda t: t.float()), "tensor 'class_prior' is float32"),
    (lambda t: {name: tensor for name, tensor in t.items() if name != LAST}, LAST),
    (lambda t: {name: tensor for name, tensor in t.items() if name != "class_prior"}, "class_prior"),
    (lambda t: {**t, "decoder.more": torch.zeros(2)}, "decoder.more"),
    (lambda t: {**t, "stowaway": torch.zeros(2)}, "stowaway"),
    (lambda t: {"class_prior": t["class_prior"]}, "more layers than there are weights|Missing key"),
]


@pytest.mark.parametrize(("change", "message"), TENSORS)
def test_weights_that_were_exchanged_in_a_folder(change, message, saved, tmp_path):
    manifest, payload = read(saved["concepts"][0])
    write(tmp_path, manifest, safetensors.torch.save(change(safetensors.torch.load(payload))))
    with pytest.raises(ip.ModelFormatError, match=message):
        ip.load(tmp_path)


def exchange(folder, path, value, to):
    manifest, payload = read(folder)
    inner = manifest
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    write(to, manifest, payload)


def name_of(value):
    return ".".join(value) if isinstance(value, tuple) else repr(value)[:30]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("pursuit", "belief", "model", "kind"), "table"),
        (("pursuit", "belief", "model", "kind"), "other-vae"),
        (("pursuit", "belief", "model", "sizes"), [2] * 8),
        (("pursuit", "belief", "model", "sizes"), [2**30] * 9),
        (("pursuit", "belief", "model", "sizes"), []),
        (("pursuit", "belief", "model", "n_classes"), 2),
        (("pursuit", "belief", "model", "n_classes"), 2**30),
        (("pursuit", "belief", "model", "dtype"), "float64"),
        (("pursuit", "belief", "model", "latent_dim"), 3),
        (("pursuit", "belief", "model", "latent_dim"), 2**30),
        (("pursuit", "belief", "model", "latent_dim"), 0),
        (("pursuit", "belief", "model", "latent_dim"), True),
        (("pursuit", "belief", "model", "latent_dim"), None),
        (("pursuit", "belief", "model", "encoder_dtype"), "float32"),
        (("pursuit", "belief", "model", "encoder_dtype"), "int8"),
        (("pursuit", "belief", "model", "body"), None),
        (("pursuit", "belief", "model", "body"), []),
        (("pursuit", "belief", "model", "body"), {}),
        (("pursuit", "belief", "model", "body"), {"kind": "forest"}),
        (("pursuit", "belief", "model", "body"), {"kind": []}),
        (("pursuit", "belief", "model", "body"), {"kind": "conv", "shape": [3, 3]}),
        (("pursuit", "belief", "model", "body"), {"kind": "conv", "shape": [2**20, 2**20]}),
        (("pursuit", "belief", "model", "body"), {"kind": "paper", "shape": [3, 3]}),
        (("pursuit", "belief", "model", "body", "widths"), [4, 8]),
        (("pursuit", "belief", "model", "body", "widths"), [2**30, 2**30]),
        (("pursuit", "belief", "model", "body", "widths"), [2**62, 2**62]),
        (("pursuit", "belief", "model", "body", "widths"), [1] * 1_000_000),
        (("pursuit", "belief", "model", "body", "widths"), []),
        (("pursuit", "belief", "model", "body", "widths"), 8),
        (("pursuit", "belief", "model", "body", "widths"), "88"),
        (("pursuit", "belief", "model", "body", "widths"), [8.0, 4.0]),
        (("pursuit", "belief", "model", "body", "batch_norm"), "yes"),
        (("pursuit", "belief", "model", "body", "batch_norm"), False),
        (("pursuit", "belief", "model", "body", "code"), "import os"),
        (("pursuit", "belief"), None),
        (("pursuit", "belief"), "smc"),
        (("pursuit", "belief"), {}),
        (("pursuit", "belief"), {"kind": "exact"}),
        (("pursuit", "belief"), {"kind": []}),
        (("pursuit", "belief", "kind"), "langevin"),
        (("pursuit", "belief", "settings", "code"), "import os"),
        (("pursuit", "belief", "settings", "n_draws"), 0),
        (("pursuit", "belief", "settings", "n_draws"), 10**12),
        (("pursuit", "belief", "settings", "n_draws"), 1.5),
        (("pursuit", "belief", "settings", "n_draws"), True),
        (("pursuit", "belief", "settings", "n_draws"), "40"),
        (("pursuit", "belief", "settings", "n_own"), 10**12),
        (("pursuit", "belief", "settings", "n_moves"), None),
        (("pursuit", "belief", "settings", "step_size"), -1),
        (("pursuit", "belief", "settings", "step_size"), float("nan")),
        (("pursuit", "belief", "settings", "step_size"), "0.1"),
        (("pursuit", "belief", "settings", "step_size"), []),
        (("pursuit", "belief", "settings", "min_ess"), float("nan")),
        (("pursuit", "belief", "settings", "min_ess"), "4"),
        (("pursuit", "acquisition", "exact"), 0),
        (("classifier", "belief"), {"kind": "smc"}),
        (("classifier", "belief"), 7),
    ],
    ids=name_of,
)
def test_settings_that_were_exchanged(path, value, saved, tmp_path):
    exchange(saved["concepts"][0], path, value, tmp_path)
    with pytest.raises(ip.ModelFormatError, match=r"."):
        ip.load(tmp_path)


def test_a_finite_model_with_a_sampler_is_damaged(tmp_path):
    ip.save(
        ip.generative_pursuit(ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["a"])),
        tmp_path,
    )
    manifest, payload = read(tmp_path)
    manifest["pursuit"]["belief"] |= {"kind": "smc", "seed": 0, "noisy": False}
    write(tmp_path, manifest, payload)
    with pytest.raises(ip.ModelFormatError, match="does not suit"):
        ip.load(tmp_path)


@pytest.mark.parametrize("case", range(60))
def test_random_damage_with_right_checksums_is_found_or_leaves_a_model_that_works(case, saved, tmp_path):
    rng = np.random.default_rng([3, case])
    folder, _, X = saved[list(THINGS)[case % len(THINGS)]]
    manifest, payload = read(folder)
    if rng.random() < 0.6:
        part = manifest["pursuit"] if rng.random() < 0.5 else manifest["pursuit"]["belief"]
        replace_one(rng, part)
    else:
        payload = scramble(rng, payload)
    write(tmp_path, manifest, payload)
    trace = attempt(tmp_path, X[:3])
    if isinstance(trace, ip.Trace):
        assert np.isfinite(trace.posteriors).all()
        np.testing.assert_allclose(trace.posterior.sum(axis=1), 1, atol=1e-5)
    else:
        assert trace is None or len(str(trace)) > 20
