"""Training: as if never stopped, whatever stopped it; refusals that say why; and that it learns at all."""

import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import infopursuit
from infopursuit.models.networks import training as module
from infopursuit.models.networks.architectures import ConvArchitecture, MLPArchitecture
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.networks.autoencoder import VAE
from infopursuit.models.networks.training import (
    CheckpointMismatch,
    Epoch,
    Training,
    negative_elbo,
    schedule,
    train,
    validate,
)

SIZES = (2, 3, 2, 2, 4, 2)
TRAINING = Training(
    epochs=3, batch_size=16, validation=0.2, checkpoint_every=0.0
)  # 80 of 100 rows in 5 steps, three times


def small(seed=0, norm=True, n_classes=3):
    return VAE(SIZES, [1 / n_classes] * n_classes, MLPArchitecture((8,), batch_norm=norm), latent_dim=2, seed=seed)


def rows(n=100, seed=0):
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(-1, size, n) for size in SIZES], axis=1)
    labels = rng.integers(0, 3, n)
    values[:, 4] = np.where(rng.random(n) < 0.8, labels, values[:, 4])
    return values, labels


def weights_of(model):
    return {name: tensor.clone() for name, tensor in model.networks.state_dict().items()}


def same(before, after):
    return before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def timeless(history):
    return [replace(epoch, seconds=0.0) for epoch in history]


def assert_same_result(found, expected):
    """To the last bit: weights, statistics of batch norm, and what was told of each epoch except its time."""
    assert same(weights_of(found[0]), weights_of(expected[0]))
    assert timeless(found[1]) == timeless(expected[1])


class Crash(BaseException):
    """Not an Exception, like being interrupted."""


def crash_at(patched, name, nth):
    """The nth call from now of a function of the module fails before it does anything."""
    real, calls = getattr(module, name), []

    def call(*arguments, **options):
        calls.append(name)
        if len(calls) > nth:
            raise Crash
        return real(*arguments, **options)

    patched.setattr(module, name, call)


# ---- going on -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uninterrupted():
    return train(small(), *rows(), TRAINING)


def test_the_run_to_compare_with_has_moved(uninterrupted):
    """Else all that follows would pass."""
    model, history = uninterrupted
    assert len(history) == 3
    assert not same(weights_of(model), weights_of(small()))
    assert len({epoch.validation_loss for epoch in history}) == 3


@pytest.mark.parametrize("step", [0, 1, 4, 5, 6, 9, 10, 13, 14])
def test_an_interrupted_training_goes_on_as_if_it_never_was(step, uninterrupted, tmp_path, monkeypatch):
    file = tmp_path / "new folder" / "checkpoint.safetensors"
    with monkeypatch.context() as patched:
        crash_at(patched, "_step", step)
        with pytest.raises(Crash):
            train(small(), *rows(), TRAINING, checkpoint=file)
    told = []
    found = train(small(), *rows(), TRAINING, checkpoint=file, say=told.append)
    assert_same_result(found, uninterrupted)
    if step:
        assert told[0] == f"going on from step {step} of 15 in {file}"
    assert len(told) == 3 - step // 5 + (step > 0)


@pytest.mark.parametrize("where", ["finish_epoch", "validate", "write_checkpoint", "write_atomically"])
@pytest.mark.parametrize("nth", [0, 1])
def test_a_crash_elsewhere_does_no_harm_either(where, nth, uninterrupted, tmp_path, monkeypatch):
    file = tmp_path / "checkpoint"
    with monkeypatch.context() as patched:
        crash_at(patched, where, nth)
        with pytest.raises(Crash):
            train(small(), *rows(), TRAINING, checkpoint=file)
    assert_same_result(train(small(), *rows(), TRAINING, checkpoint=file), uninterrupted)
    assert list(tmp_path.iterdir()) == [file]


def test_interrupted_at_every_step_in_turn(uninterrupted, tmp_path, monkeypatch):
    file = tmp_path / "checkpoint"
    for _ in range(14):  # each goes one step further, and writes it down
        with monkeypatch.context() as patched:
            crash_at(patched, "_step", 1)
            with pytest.raises(Crash):
                train(small(), *rows(), TRAINING, checkpoint=file)
    assert_same_result(train(small(), *rows(), TRAINING, checkpoint=file), uninterrupted)


def test_checkpoints_that_are_rare_lose_time_only(uninterrupted, tmp_path, monkeypatch):
    """An hour between two: only the last step is written; before that all is done again."""
    file = tmp_path / "checkpoint"
    rare = replace(TRAINING, checkpoint_every=3600.0)
    with monkeypatch.context() as patched:
        crash_at(patched, "_step", 12)
        with pytest.raises(Crash):
            train(small(), *rows(), rare, checkpoint=file)
    assert not file.exists()
    assert_same_result(train(small(), *rows(), rare, checkpoint=file), uninterrupted)
    # how often it is written is no part of what is trained
    assert_same_result(train(small(), *rows(), TRAINING, checkpoint=file), uninterrupted)


def test_a_finished_training_is_not_done_again(uninterrupted, tmp_path, monkeypatch):
    file = tmp_path / "checkpoint"
    train(small(), *rows(), TRAINING, checkpoint=file)
    crash_at(monkeypatch, "_step", 0)
    assert_same_result(train(small(), *rows(), TRAINING, checkpoint=file), uninterrupted)


def test_float64_and_moved_images_go_on_too(tmp_path, monkeypatch):
    images = np.random.default_rng(0).integers(0, 2, (30, 20))
    model = VAE((2,) * 20, [0.5, 0.5], ConvArchitecture((4, 5), (2, 3), 4), 2).to(dtype=torch.float64)
    settings = Training(epochs=2, batch_size=8, augmentation=RandomAffine(), checkpoint_every=0.0, validation=0.1)
    expected = train(model, images, np.arange(30) % 2, settings)
    with monkeypatch.context() as patched:
        crash_at(patched, "_step", 6)
        with pytest.raises(Crash):
            train(model, images, np.arange(30) % 2, settings, checkpoint=tmp_path / "c")
    found = train(model, images, np.arange(30) % 2, settings, checkpoint=tmp_path / "c")
    assert found[0].dtype == torch.float64
    assert_same_result(found, expected)
    still = train(model, images, np.arange(30) % 2, replace(settings, augmentation=None))
    assert not same(weights_of(still[0]), weights_of(expected[0]))  # moves do something


KILLED = """
import os, sys, time
import torch
torch.set_num_threads(1)
sys.path.insert(0, {tests!r})
from test_training import TRAINING, module, rows, small

flush, calls = os.fsync, []

def fsync(handle):
    calls.append(handle)
    if len(calls) == 17:  # the file and its folder, for each of eight checkpoints
        print("writing", flush=True)
        time.sleep(60)  # the file beside is written, and not yet in its place
    flush(handle)

os.fsync = fsync
module.train(small(), *rows(), TRAINING, checkpoint={file!r})
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_process_that_was_killed_goes_on_as_if_it_never_was(uninterrupted, tmp_path):
    """At the worst moment: while it writes its ninth checkpoint."""
    file = tmp_path / "checkpoint"
    script = KILLED.format(tests=str(Path(__file__).parent), file=str(file))
    environment = {**os.environ, "PYTHONPATH": str(Path(infopursuit.__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline() == b"writing\n"
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2  # nobody was left to remove the file beside, and it does not matter
    told = []
    assert_same_result(train(small(), *rows(), TRAINING, checkpoint=file, say=told.append), uninterrupted)
    assert told[0].startswith("going on from step 8 of 15")


# ---- checkpoints of something else ----------------------------------------------------------------------------------

VALUES, LABELS = rows()


def changed(array, where, value):
    other = array.copy()
    other[where] = value
    return other


@pytest.mark.parametrize(
    ("model", "values", "labels", "training"),
    [
        (small(), VALUES, LABELS, replace(TRAINING, epochs=4)),
        (small(), VALUES, LABELS, replace(TRAINING, batch_size=17)),
        (small(), VALUES, LABELS, replace(TRAINING, learning_rate=1e-3)),
        (small(), VALUES, LABELS, replace(TRAINING, beta=0.5)),
        (small(), VALUES, LABELS, replace(TRAINING, validation=0.21)),
        (small(), VALUES, LABELS, replace(TRAINING, patience=11)),
        (small(), VALUES, LABELS, replace(TRAINING, seed=1)),
        (small(), changed(VALUES, (99, 5), 1 - VALUES[99, 5]), LABELS, TRAINING),
        (small(), VALUES, changed(LABELS, 50, (LABELS[50] + 1) % 3), TRAINING),
        (small(), VALUES[:-1], LABELS[:-1], TRAINING),
        (small(seed=1), VALUES, LABELS, TRAINING),
        (small(norm=False), VALUES, LABELS, TRAINING),
        (small(n_classes=4), VALUES, LABELS, TRAINING),
        (small().with_class_prior([0.2, 0.2, 0.6]), VALUES, LABELS, TRAINING),
        (small().to(dtype=torch.float64), VALUES, LABELS, TRAINING),
        (VAE(SIZES, [1 / 3] * 3, MLPArchitecture((8,)), latent_dim=3), VALUES, LABELS, TRAINING),
    ],
    ids=[
        *("epochs", "batch_size", "learning_rate", "beta", "validation", "patience", "seed"),
        *("values", "labels", "fewer rows"),
        *("first weights", "architecture", "classes", "prior", "number type", "latent_dim"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(model, values, labels, training, tmp_path, monkeypatch):
    file = tmp_path / "checkpoint"
    with monkeypatch.context() as patched:
        crash_at(patched, "_step", 2)
        with pytest.raises(Crash):
            train(small(), VALUES, LABELS, TRAINING, checkpoint=file)
    before = file.read_bytes()
    with pytest.raises(CheckpointMismatch, match=r"checkpoint='.*checkpoint' belongs to other data or other settings"):
        train(model, values, labels, training, checkpoint=file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.999])
def test_a_checkpoint_that_was_cut_off_is_refused(share, tmp_path):
    file = tmp_path / "checkpoint"
    train(small(), *rows(), replace(TRAINING, epochs=1), checkpoint=file)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"checkpoint='.*' cannot be read \(.+\); remove it to begin anew"):
        train(small(), *rows(), replace(TRAINING, epochs=1), checkpoint=file)


@pytest.mark.parametrize("content", [b"hello, this is a letter and not a checkpoint", None])
def test_what_is_no_checkpoint_is_refused(content, tmp_path):
    file = tmp_path / "checkpoint"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=r"checkpoint='.*' cannot be read"):
        train(small(), *rows(), TRAINING, checkpoint=file)


# ---- learning -------------------------------------------------------------------------------------------------------

KINDS = np.array(
    [  # two classes of two kinds each; no single variable tells the classes apart
        [[0.95] * 4 + [0.05] * 4 + [0.95] * 4, [0.05] * 4 + [0.95] * 4 + [0.05] * 4],
        [[0.95] * 8 + [0.05] * 4, [0.05] * 8 + [0.95] * 4],
    ]
)


def planted(n=600, seed=0):
    rng = np.random.default_rng(seed)
    labels, kinds = rng.integers(0, 2, n), rng.integers(0, 2, n)
    return (rng.random((n, 12)) < KINDS[labels, kinds]).astype(np.int8), labels


@pytest.mark.parametrize("norm", [False, True], ids=["plain", "batch norm"])
def test_it_learns_two_classes_of_two_kinds(norm):
    model = VAE((2,) * 12, [0.5, 0.5], MLPArchitecture((32,), batch_norm=norm), latent_dim=2)
    settings = Training(epochs=12, batch_size=32, learning_rate=1e-2, validation=0.2)
    trained, history = train(model, *planted(), settings)
    losses = [epoch.train_loss for epoch in history]
    assert losses[-1] < losses[0] - 1
    assert history[-1].validation_loss < 12 * math.log(2) - 1.5  # better than variables that are independent
    values, labels = planted(500, seed=1)
    loss, accuracy = validate(trained, values, labels, np.arange(500))
    assert accuracy > 0.9  # 0.5 is chance
    assert loss == pytest.approx(min(epoch.validation_loss for epoch in history), abs=0.5)
    _, before = validate(model, values, labels, np.arange(500))
    assert before < 0.8


def test_the_negative_elbo_is_what_a_loop_gives():
    model = small(norm=False).to(dtype=torch.float64)
    values, labels = (torch.as_tensor(x) for x in rows(7))
    noise = torch.randn((7, 2), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with torch.no_grad():
        found = negative_elbo(model, values, labels, noise, beta=0.3)
        for i in range(7):
            mean, log_std = model.encode(values[i : i + 1], labels[i : i + 1])
            posterior = torch.distributions.Normal(mean, log_std.exp())
            prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
            latent = mean + log_std.exp() * noise[i]
            logs = model.log_probs(latent, labels[i : i + 1])[0]
            likelihood = sum(
                logs[model.variables.offsets[a] + v].item() for a, v in enumerate(values[i].tolist()) if v >= 0
            )
            divergence = torch.distributions.kl_divergence(posterior, prior).sum().item()
            assert found[i].item() == pytest.approx(0.3 * divergence - likelihood, abs=1e-10)


def test_the_best_weights_are_returned_not_the_last():
    """A model with more freedom than 40 rows can bear: its validation loss falls, then rises."""
    values, labels = planted(50)
    model = VAE((2,) * 12, [0.5, 0.5], MLPArchitecture((64,), batch_norm=False), latent_dim=4)
    trained, history = train(
        model, values, labels, Training(epochs=30, batch_size=8, learning_rate=1e-2, validation=0.2)
    )
    best = min(epoch.validation_loss for epoch in history)
    assert best < history[-1].validation_loss - 0.01
    held_out = np.sort(np.random.default_rng((0, 0)).permutation(50)[:10])
    assert validate(trained, values, labels, held_out)[0] == pytest.approx(best, abs=1e-6)


def test_it_stops_when_it_gets_no_better(tmp_path, monkeypatch):
    """Labels and values at random: after patience epochs without a better validation loss there is no other epoch."""
    rng = np.random.default_rng(0)
    values, labels = rng.integers(0, 2, (30, 12)), rng.integers(0, 2, 30)
    model = VAE((2,) * 12, [0.5, 0.5], MLPArchitecture((64,), batch_norm=False), latent_dim=4)
    settings = Training(epochs=60, batch_size=8, learning_rate=1e-2, validation=0.3, patience=2, checkpoint_every=0.0)
    told = []
    expected = train(model, values, labels, settings, say=told.append)
    losses = [epoch.validation_loss for epoch in expected[1]]
    assert len(losses) < 60
    assert int(np.argmin(losses)) == len(losses) - 3  # the best, and two that were not better
    for i in range(3, len(losses)):  # nor was there reason to stop before
        assert min(losses[i - 2 : i]) < min(losses[: i - 2])
    assert told[-1] == "the validation loss has not fallen for 2 epochs"
    # interrupted before its last epoch, and once more when it has stopped: for the same reason at the same place
    assert len(losses) > 4
    with monkeypatch.context() as patched:
        crash_at(patched, "_step", 3 * (len(losses) - 1))
        with pytest.raises(Crash):
            train(model, values, labels, settings, checkpoint=tmp_path / "c")
    for _ in range(2):
        assert_same_result(train(model, values, labels, settings, checkpoint=tmp_path / "c"), expected)


def test_what_is_told_of_an_epoch_is_true_of_the_model_that_is_returned(uninterrupted):
    """With batch norm as in inference, not by the rows that happen to be validated together."""
    model, history = uninterrupted
    values, labels = rows()
    held_out = np.sort(np.random.default_rng((0, 0)).permutation(100)[:20])
    best = min(history, key=lambda epoch: epoch.validation_loss)
    assert validate(model, values, labels, held_out) == (best.validation_loss, best.validation_accuracy)


def test_every_epoch_takes_every_row_once_and_none_that_is_held_out(monkeypatch):
    """In another order each time, with other noise in each step."""
    seen, noises = [], []
    step, elbo = module._step, module.negative_elbo

    def recorded(networks, optimizer, lessons, batch, *rest):
        seen.append(lessons.values[batch] @ [1, 10, 100])
        return step(networks, optimizer, lessons, batch, *rest)

    def noisy(model, values, labels, noise, *beta):
        noises.append(noise)
        return elbo(model, values, labels, noise, *beta)

    monkeypatch.setattr(module, "_step", recorded)
    monkeypatch.setattr(module, "negative_elbo", noisy)
    monkeypatch.setattr(module, "validate", lambda *arguments: (1.0, 1.0))
    number = np.arange(100)
    values = np.stack([number % 10, number // 10, 0 * number], axis=1)
    model = VAE((10, 10, 2), [0.5, 0.5], MLPArchitecture((4,)), latent_dim=2)
    train(model, values, number % 2, Training(epochs=3, batch_size=16, validation=0.2))
    epochs = [np.concatenate(seen[5 * i : 5 * i + 5]).tolist() for i in range(3)]
    assert all(len(set(epoch)) == 80 for epoch in epochs)
    assert set(epochs[0]) == set(epochs[1]) == set(epochs[2])
    assert set(seen[0].tolist()) != set(seen[5].tolist()) != set(seen[10].tolist())
    assert len({noise.sum().item() for noise in noises}) == 15


def test_without_rows_that_are_held_out_the_training_loss_counts():
    _, history = train(small(), *rows(), replace(TRAINING, validation=0.0))
    for epoch in history:
        assert epoch.validation_loss == epoch.train_loss
        assert math.isnan(epoch.validation_accuracy)


def test_beta_weighs_the_divergence():
    free, usual, tight = (train(small(), *rows(), replace(TRAINING, beta=beta, epochs=8)) for beta in (0.0, 1.0, 10.0))
    values, labels = (torch.as_tensor(x) for x in rows())

    def divergence(model):
        mean, log_std = model.encode(values, labels)
        return ((mean.square() + (2 * log_std).exp() - 1 - 2 * log_std).sum(1) / 2).mean().item()

    assert divergence(free[0]) > divergence(usual[0]) > divergence(tight[0])
    # what is validated is the ELBO, whatever beta is; what was minimised is told as the training loss
    assert free[1][-1].train_loss < usual[1][-1].train_loss < tight[1][-1].train_loss
    assert tight[1][-1].train_loss > 2 * tight[1][-1].validation_loss


# ---- what it does to others -----------------------------------------------------------------------------------------


def test_the_given_model_and_the_global_generators_are_left_alone():
    model = small()
    before, drawn, numbers = weights_of(model), torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    values, labels = rows()
    kept = values.copy(), labels.copy()
    trained, _ = train(model, values, labels, TRAINING)
    assert same(weights_of(model), before)
    assert not any(layer.training for layer in (*model.encoder.modules(), *model.decoder.modules()))
    assert not any(layer.training for layer in (*trained.encoder.modules(), *trained.decoder.modules()))
    assert torch.equal(torch.get_rng_state(), drawn)
    assert np.array_equal(np.random.get_state()[1], numbers)  # noqa: NPY002
    assert np.array_equal(values, kept[0])
    assert np.array_equal(labels, kept[1])


def test_global_generators_do_not_matter(uninterrupted):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        assert_same_result(train(small(), *rows(), TRAINING), uninterrupted)


def test_another_seed_is_another_training(uninterrupted):
    other, _ = train(small(), *rows(), replace(TRAINING, seed=1))
    assert not same(weights_of(other), weights_of(uninterrupted[0]))


def test_values_mapped_into_memory_are_as_good_as_an_array(uninterrupted, tmp_path, monkeypatch):
    values, labels = rows()
    values.astype(np.int8).tofile(tmp_path / "values")
    mapped = np.memmap(tmp_path / "values", dtype=np.int8, mode="r", shape=values.shape)
    file = tmp_path / "checkpoint"
    with monkeypatch.context() as patched:
        crash_at(patched, "_step", 7)
        with pytest.raises(Crash):
            train(small(), mapped, labels, TRAINING, checkpoint=file)
    # and they are the same data: the checkpoint of one serves the other
    assert_same_result(train(small(), values, labels, TRAINING, checkpoint=file), uninterrupted)
    assert_same_result(train(small(), mapped, labels, TRAINING), uninterrupted)


def test_mapped_values_are_read_a_mini_batch_at_a_time(tmp_path):
    class Counting:
        """Rows that are asked for one selection at a time, as of a file that does not fit into memory."""

        def __init__(self, values):
            self.values, self.ndim, self.shape, self.most = values, values.ndim, values.shape, 0

        def __getitem__(self, which):
            self.most = max(self.most, len(which))
            return self.values[which]

    values, labels = np.zeros((5000, 6), dtype=np.int8), np.zeros(5000, dtype=int)
    counting = Counting(values)
    train(small(), counting, labels, Training(epochs=1, batch_size=500, validation=0.5))
    assert counting.most <= 1000


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, bool, np.float32])
def test_the_number_type_of_values_does_not_matter(dtype):
    values, labels = planted(40)
    model = VAE((2,) * 12, [0.5, 0.5], MLPArchitecture((4,)), latent_dim=2)
    expected = train(model, values, labels, Training(epochs=1, batch_size=8, validation=0.2))
    assert_same_result(
        train(model, values.astype(dtype), labels, Training(epochs=1, batch_size=8, validation=0.2)), expected
    )


# ---- batch norm and single rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "batch_size"), [(17, 8), (17, 16), (9, 1), (2, 1)])
def test_a_last_batch_of_one_row_does_not_break_batch_norm(n, batch_size):
    """One row has no spread: batch norm goes by what it has seen so far."""
    values, labels = rows(n)
    model, history = train(small(), values, labels, Training(epochs=3, batch_size=batch_size, validation=0.0))
    assert len(history) == 3
    assert all(math.isfinite(epoch.train_loss) for epoch in history)
    assert all(tensor.isfinite().all() for tensor in weights_of(model).values())
    norms = [layer for layer in model.networks.modules() if isinstance(layer, torch.nn.BatchNorm1d)]
    epochs = 1 + int(np.argmin([epoch.train_loss for epoch in history]))  # of the best weights, which are returned
    assert {layer.num_batches_tracked.item() for layer in norms} == {epochs * (n // batch_size) * (batch_size > 1)}
    assert not any(layer.training for layer in norms)


def test_batches_of_more_rows_normalise_by_themselves():
    model, _ = train(small(), *rows(18), Training(epochs=1, batch_size=8, validation=0.0))
    norms = [layer for layer in model.networks.modules() if isinstance(layer, torch.nn.BatchNorm1d)]
    assert norms
    assert {layer.num_batches_tracked.item() for layer in norms} == {3}  # 8, 8 and 2 rows


def test_one_row_among_two_is_enough():
    """Half is held out, so one is left."""
    _, history = train(small(), *rows(2), Training(epochs=2, validation=0.5))
    assert len(history) == 2


# ---- refusals -------------------------------------------------------------------------------------------------------


def test_a_loss_that_is_not_a_number_is_refused(tmp_path):
    with pytest.raises(
        FloatingPointError, match=r"the loss is (nan|inf) at step \d+; .* smaller learning_rate than 1e\+"
    ):
        train(small(), *rows(), replace(TRAINING, learning_rate=1e20), checkpoint=tmp_path / "c")
    deep = VAE(SIZES, [1 / 3] * 3, MLPArchitecture((8, 8, 8), batch_norm=False), latent_dim=2)
    with pytest.raises(FloatingPointError, match=r"learning_rate than 1e\+06"):
        train(deep, *rows(), replace(TRAINING, learning_rate=1e6, epochs=20))


def test_a_validation_loss_that_is_not_a_number_is_refused(monkeypatch):
    """The last step may spoil the weights: its own loss was computed before it."""
    monkeypatch.setattr(module, "validate", lambda *arguments: (math.nan, 0.5))
    with pytest.raises(FloatingPointError, match=r"the loss is nan at step 5; .* learning_rate"):
        train(small(), *rows(), TRAINING)


def test_the_schedule_rises_and_falls():
    assert schedule(0.0) == 0
    assert schedule(0.05) == pytest.approx(0.5)
    assert schedule(0.1) == 1
    assert schedule(math.nextafter(0.1, 0)) == pytest.approx(1)
    assert schedule(0.55) == pytest.approx(0.5)
    assert schedule(1.0) == pytest.approx(0, abs=1e-12)
    shares = [schedule(share) for share in np.linspace(0, 1, 101)]
    assert all(0 <= share <= 1 for share in shares)
    assert np.argmax(shares) == 10
    assert (np.diff(shares[:11]) > 0).all()
    assert (np.diff(shares[10:]) < 0).all()


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"epochs": 0}, "epochs=0"),
        ({"epochs": 1.5}, "epochs=1.5"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"patience": 0}, "patience=0"),
        ({"seed": -1}, "seed=-1"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
        ({"learning_rate": math.nan}, "learning_rate=nan"),
        ({"learning_rate": math.inf}, "learning_rate=inf"),
        ({"beta": -0.1}, "beta=-0.1"),
        ({"validation": 1.0}, "validation=1.0"),
        ({"validation": -0.1}, "validation=-0.1"),
        ({"checkpoint_every": -1.0}, "checkpoint_every=-1.0"),
        ({"checkpoint_every": math.nan}, "checkpoint_every=nan"),
    ],
)
def test_bad_settings_are_refused(settings, word):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        Training(**settings)
    assert word in str(refused.value)


@pytest.mark.parametrize(
    ("values", "labels", "settings", "word"),
    [
        (VALUES[:, :5], LABELS, {}, "values has shape (100, 5); expected (100, 6)"),
        (VALUES[:50], LABELS, {}, "values has shape (50, 6); expected (100, 6)"),
        (VALUES[0], LABELS, {}, "values has shape (6,)"),
        (VALUES.tolist(), LABELS, {}, "values has shape None"),
        (changed(VALUES, (3, 0), 2), LABELS, {}, "0] is 2; variable 0 takes the values 0 to 1"),
        (changed(VALUES, (3, 0), -2), LABELS, {}, "0] is -2; variable 0"),
        (VALUES + 0.5, LABELS, {}, "numbers that are not whole"),
        (VALUES, LABELS + 1, {}, "labels must be two or more class numbers from 0 to 2"),
        (VALUES, LABELS - 1, {}, "labels must be"),
        (VALUES, LABELS[:, None], {}, "labels is int64 of shape (100, 1)"),
        (VALUES, LABELS + 0.5, {}, "labels is float64 of shape (100,)"),
        (VALUES, LABELS.astype(str), {}, "labels is <U"),
        (VALUES[:1], LABELS[:1], {}, "two or more"),
        (VALUES, LABELS, {"validation": 0.999}, "validation=0.999 leaves none of 100 rows"),
        (VALUES, LABELS, {"augmentation": RandomAffine()}, "augmentation needs images"),
    ],
)
def test_bad_data_are_refused(values, labels, settings, word):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        train(small(), values, labels, replace(TRAINING, **settings))
    assert word in str(refused.value)


def test_numbers_of_numpy_are_numbers(uninterrupted, tmp_path):
    settings = replace(TRAINING, epochs=np.int64(3), batch_size=np.int32(16), learning_rate=np.float32(2e-3))
    _, history = train(small(), *rows(), settings, checkpoint=tmp_path / "c")
    assert [epoch.epoch for epoch in history] == [1, 2, 3]
    exact = replace(TRAINING, epochs=np.int64(3), seed=np.int64(0))
    assert_same_result(train(small(), *rows(), exact), uninterrupted)


def test_what_an_epoch_came_to_is_told():
    told = []
    _, history = train(small(), *rows(), replace(TRAINING, epochs=1), say=told.append)
    assert isinstance(history[0], Epoch)
    (line,) = told
    assert line.startswith(f"epoch 1 of 1: -ELBO {history[0].train_loss:.2f} training, ")
    assert f"{history[0].validation_loss:.2f} validation, MAP {100 * history[0].validation_accuracy:.2f} %" in line
