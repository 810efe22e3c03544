"""The black box using Q of Table 1: the better of the paper's network and a tuned model of scikit-learn."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from infopursuit.evaluation.baselines.inputs import Inputs
from infopursuit.evaluation.baselines.network import (
    Network,
    NetworkEpoch,
    NetworkSettings,
    best_epoch,
    build_network,
    network_logits,
)
from infopursuit.evaluation.baselines.result import BaselineResult, score
from infopursuit.evaluation.baselines.rows import check_rows, check_training_rows, hold_out
from infopursuit.evaluation.baselines.tuned import Tuned, fit_tuned
from infopursuit.models.training import schedule
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import IntArray

logger = logging.getLogger(__name__)


def black_box(
    query_set: QuerySet,
    values_train: Any,
    labels_train: Any,
    values_test: Any,
    labels_test: Any,
    *,
    settings: NetworkSettings | None = None,
    network: Network | None = None,
    tuned: Tuned | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> BaselineResult:
    """The better of the two by accuracy on the same held-out rows; its details say which, and have the other's result.

    network, tuned: those that have been fitted already, to be used instead of fitting them here. Seed, share of
    held-out rows and refit are those of the settings, for both.
    """
    settings = settings or NetworkSettings()
    values_test, labels_test = check_rows(query_set, values_test, labels_test, "test")
    if network is None:
        network = fit_network(query_set, values_train, labels_train, settings, progress=progress, say=say)
    if tuned is None:
        tuned = fit_tuned(
            query_set,
            values_train,
            labels_train,
            validation=settings.validation,
            refit=settings.refit,
            seed=settings.seed,
            progress=progress,
            say=say,
        )
    chosen, other = (network, tuned) if network.validation_accuracy >= tuned.validation_accuracy else (tuned, network)
    best = score(chosen, values_test, labels_test)
    details = {"chosen": chosen.name, **best.details, "other": asdict(score(other, values_test, labels_test))}
    return replace(best, name="black box using Q", seconds=network.seconds + tuned.seconds, details=details)


def fit_network(
    query_set: QuerySet,
    values: Any,
    labels: Any,
    settings: NetworkSettings | None = None,
    *,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> Network:
    """Train the paper's network: stop early by the accuracy on held-out rows, then train it again on all rows.

    The same rows, settings and number of threads give the same weights.
    """
    settings = settings or NetworkSettings()
    begin = time.perf_counter()
    values, classes, targets = check_training_rows(query_set, values, labels)
    inputs = Inputs(query_set)
    if settings.moves is not None and inputs.picture is None:
        raise ValueError(f"moves={settings.moves} need pictures: queries such as ip.queries.patches((28, 28))")
    learn, choose = hold_out(targets, settings.validation, settings.seed)
    module, best = build_network(inputs, len(classes), settings), {}
    history: list[NetworkEpoch] = []
    for epoch, loss in _epochs(module, inputs, values, targets, learn, settings, settings.epochs, progress):
        history.append(_examine(module, inputs, values[choose], targets[choose], epoch, loss))
        say(_told(history[-1], settings.epochs))
        if best_epoch(history) is history[-1]:
            best = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        elif epoch - best_epoch(history).epoch >= settings.patience:
            say(f"no better on held-out rows for {settings.patience} epochs")
            break
    if settings.refit:
        # the same weights to begin with; the schedule ends where the first training was best
        module, last = build_network(inputs, len(classes), settings), best_epoch(history).epoch
        for epoch, loss in _epochs(module, inputs, values, targets, np.arange(len(targets)), settings, last, progress):
            say(f"epoch {epoch} of {last} on all rows: loss {loss:.4f}")
    else:
        module.load_state_dict(best)
    return Network(module.eval(), inputs, classes, settings, tuple(history), time.perf_counter() - begin)


def _epochs(
    module: nn.Module,
    inputs: Inputs,
    values: Any,
    targets: IntArray,
    rows: IntArray,
    settings: NetworkSettings,
    n_epochs: int,
    progress: bool | None,
) -> Iterator[tuple[int, float]]:
    """Train epoch by epoch; yields the number of each and its mean loss, with the network ready to be used."""
    optimizer = torch.optim.AdamW(module.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    starts = range(0, len(rows), settings.batch_size)
    step = 0
    with Progress("training the black box", n_epochs * len(starts), show=progress) as shown:
        for epoch in range(1, n_epochs + 1):
            shuffled = np.random.default_rng((settings.seed, 1, epoch)).permutation(rows)
            total = 0.0
            for start in starts:
                batch = shuffled[start : start + settings.batch_size]
                module.train(len(batch) > 1)  # one row has no spread: batch norm goes by the rows before it
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * schedule(step / (n_epochs * len(starts)))
                seen = _moved(values[batch], inputs, settings, step)
                loss = F.cross_entropy(module(inputs.encode(seen)), torch.as_tensor(targets[batch]))
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += float(loss.detach()) * len(batch)
                step += 1
                shown.advance()
            if not np.isfinite(total):
                raise FloatingPointError(
                    f"the loss is {total} in epoch {epoch}; try a smaller learning_rate than {settings.learning_rate:g}"
                )
            module.eval()
            yield epoch, total / len(rows)


def _moved(values: Any, inputs: Inputs, settings: NetworkSettings, step: int) -> Any:
    """The rows of a step, moved if they are to be; by how much depends on the seed and the step alone."""
    if settings.moves is None or inputs.picture is None:
        return values
    generator = torch.Generator().manual_seed(int(np.random.default_rng((settings.seed, 2, step)).integers(2**53)))
    wide = torch.as_tensor(np.asarray(values, dtype=np.int64))
    return settings.moves.apply(wide, inputs.picture, generator).numpy()


def _examine(
    module: nn.Module, inputs: Inputs, values: Any, targets: IntArray, epoch: int, train_loss: float
) -> NetworkEpoch:
    logits = torch.as_tensor(network_logits(module, inputs, values))
    wanted = torch.as_tensor(targets)
    accuracy = float((logits.argmax(dim=1) == wanted).double().mean())
    return NetworkEpoch(epoch, train_loss, float(F.cross_entropy(logits, wanted)), accuracy)


def _told(epoch: NetworkEpoch, total: int) -> str:
    return (
        f"epoch {epoch.epoch} of {total}: loss {epoch.train_loss:.4f} training, {epoch.validation_loss:.4f} "
        f"validation, {100 * epoch.validation_accuracy:.2f} % right on held-out rows"
    )
