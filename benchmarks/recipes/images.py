"""Table 1 for a set of images: Information Pursuit with two models and both, and what it is compared with."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from benchmarks.baselines import decision_tree, fit_tuned, row_of, score
from benchmarks.black_box import Network, fit_network, load_network, save_network
from benchmarks.choose_stopping import choose_stopping, told
from benchmarks.experiment import Experiment
from benchmarks.inputs import Fitted
from benchmarks.log_joint import log_joint
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageSet, ImageTask, weights_checksum
from infopursuit.evaluation.measures import Point, Row, accuracy_interval, confidence_curve, counted, stops_at
from infopursuit.models.networks.autoencoder import log_evidence
from infopursuit.presentation.plots import image_trace, trade_off
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.pursuit.trace import Trace
from infopursuit.support.types import IntArray, ModelFormatError

N_DRAWS = 16
"""Draws of the encoder for each class in MAP using Q."""
N_EXAMPLES = 4
"""Pictures of single pursuits."""

VAE, EXAMPLES, POOL = "VAE", "training images as the model", "all pooled"
"""The three models."""

Make = Callable[[Any, float, int], Pursuit[Any]]


def images(name: str, experiment: Experiment) -> dict[str, Any]:
    """Run the experiment of one set of images."""
    recipe = IMAGE_SETS[name]
    task = ImageTask(recipe, experiment.n_inputs)
    say = experiment.say
    say(f"{len(task.values)} training images, {len(task.x_test)} test images, {len(task.query_set)} queries")
    pursuits = {way: pursuit_part(task, way, experiment) for way in (VAE, EXAMPLES, POOL)}
    asked = _asked(recipe)
    models = [*asked, weights_checksum(name), recipe.examples, *_pooled(recipe)]
    whole = experiment.part("MAP using Q", models, lambda: _map(task, experiment))
    tree = experiment.part("decision tree", asked, lambda: _tree(task, say))
    box = experiment.part("black box", [*asked, recipe.network], lambda: _black_box(task, experiment))
    rows = [
        *(_pursuit_row(f"Information Pursuit, {way}", found) for way, found in pursuits.items()),
        _row("decision tree on Q (CART)", tree, f"depth {tree['details']['depth']}", tree["details"]["questions"]),
        _row(f"MAP using Q, {VAE}", whole["vae"]),
        _row(f"MAP using Q, {EXAMPLES}", whole["examples"]),
        _row(f"MAP using Q, {POOL}", whole["pool"]),
        _row(f"black box using Q: {box['chosen']}", box[box["chosen"]]),
        *(asdict(row) for row in recipe.paper),
    ]
    curves = {way: [Point(**p) for p in found["test_curve"]] for way, found in pursuits.items()}
    marks = {"the paper": (recipe.paper[0].length or 0.0, recipe.paper[0].accuracy)}
    axes = trade_off(curves, marks=marks, title=f"{recipe.name}, patches of {recipe.size} x {recipe.size}")
    figure = experiment.figure(axes, f"{recipe.name}.png", f"accuracy against questions on {recipe.name}")
    return experiment.finish(
        {
            "data": {
                "name": task.data.name,
                "n_train": len(task.values),
                "n_test": len(task.x_test),
                "n_queries": len(task.query_set),
                "query": f"pixels of a patch of {recipe.size} x {recipe.size}",
            },
            "rows": rows,
            "parts": {"pursuits": pursuits, "map": whole, "tree": tree, "black_box": box},
            "tables": {"How the stopping rule was chosen": [_told(way, found) for way, found in pursuits.items()]},
            "figures": [figure, *pursuits[VAE]["figures"]],
        }
    )


def pursuit_part(task: ImageTask, way: str, experiment: Experiment) -> dict[str, Any]:
    """The pursuits of one model, as measured before or now: a part is done again when what it depends on has changed,
    the trained weights or some of the settings."""
    recipe = task.images
    decoded = [weights_checksum(recipe.name), recipe.decoded, recipe.sampler]
    ways: dict[str, tuple[list[Any], Make]] = {
        VAE: (decoded, task.with_vae),
        EXAMPLES: ([recipe.examples], task.with_examples),
        POOL: ([*decoded, *_pooled(recipe)], task.with_pool),
    }
    own, make = ways[way]
    stops: list[Any] = [recipe.length, recipe.most_queries, recipe.patiences, recipe.tried, recipe.epsilons]
    stops += ["one standard error"] if recipe.one_standard_error else []  # what was measured without it is kept
    settings = [*_asked(recipe), *stops, recipe.n_states, recipe.n_screened, *own]
    return dict(experiment.part(f"pursuit {way}", settings, partial(_pursue, task, make, experiment, way)))


def _asked(recipe: ImageSet) -> list[Any]:
    return [recipe.data, recipe.threshold, recipe.size]


def _pooled(recipe: ImageSet) -> list[Any]:
    return [recipe.pooled, recipe.n_pooled, recipe.n_mixture, recipe.rounds_mixture]


def network_of(task: ImageTask, experiment: Experiment) -> Network:
    """The black box network of a set, as trained before or now."""
    file = experiment.file(f"{task.images.name}-network.safetensors")
    if file.is_file():
        try:
            network = load_network(file, task.query_set)
            if network.settings == task.images.network:
                return network
        except ModelFormatError as error:
            experiment.say(f"trained anew: {error}")
    network = fit_network(
        task.query_set, task.values, task.labels, task.images.network, progress=experiment.progress, say=experiment.say
    )
    save_network(network, file)
    return network


def _pursue(task: ImageTask, make: Make, experiment: Experiment, way: str) -> dict[str, Any]:
    """Choose epsilon and patience on held-out training images with the other images as the model's; then the test."""
    recipe, say = task.images, experiment.say
    trial = make(task.rest, min(recipe.epsilons), max(recipe.patiences))
    trace = trial.run_values(task.values[task.held_out], progress=experiment.progress)
    del trial
    choice = choose_stopping(
        trace,
        task.labels[task.held_out],
        recipe.epsilons,
        recipe.patiences,
        recipe.length,
        one_standard_error=recipe.one_standard_error,
    )
    say(
        f"{way}: on {len(task.held_out)} held-out training images, epsilon {choice.epsilon:g} and patience "
        f"{choice.patience}: {told(choice.point)}; elbow: {told(choice.elbow)}"
    )
    final = make(slice(None), min(recipe.epsilons), choice.patience)
    # one run to the smallest epsilon has the whole curve in it: one that stops earlier asks the same questions first
    start = time.perf_counter()
    longest = final.run_values(task.x_test, progress=experiment.progress)
    seconds = time.perf_counter() - start
    curve = confidence_curve(longest, task.y_test, recipe.epsilons, choice.patience)
    point = next(p for p in curve if p.epsilon == choice.epsilon)
    each = seconds / max(int(longest.length.sum()), 1)
    say(f"{way}: {len(longest)} test images: {told(point)}, {1000 * each:.2f} ms for each question")
    pixels = pixels_seen(longest, stops_at(longest, choice.epsilon, choice.patience))
    stopping = Confidence(choice.epsilon) | MaxQueries(recipe.most_queries)
    stopped = dataclasses.replace(final, stopping=stopping, patience=choice.patience)
    return {
        "chosen": {"epsilon": choice.epsilon, "patience": choice.patience},
        "held_out": asdict(choice.point),
        "held_out_elbow": asdict(choice.elbow),
        "held_out_curves": {str(p): [asdict(point) for point in points] for p, points in choice.curves.items()},
        "test": asdict(point),
        "test_curve": [asdict(p) for p in curve],
        "seconds_per_question": each,
        "pixels_seen": float(pixels.mean()),
        "figures": _draw(task, stopped, experiment) if way == VAE else [],
    }


def pixels_seen(trace: Trace, stop: IntArray) -> IntArray:
    """(B,) how many different variables the first ``stop`` (B,) queries of each input reveal."""
    variables = trace.query_set.query_variables
    seen = np.zeros((len(trace), len(trace.query_set.variables) + 1), dtype=bool)
    for k in range(int(stop.max(initial=0))):
        going = np.flatnonzero(stop > k)
        seen[going[:, None], variables[trace.queries[going, k]]] = True  # -1, no variable, is the last column
    return np.asarray(seen[:, :-1].sum(axis=1))


def _draw(task: ImageTask, pursuit: Pursuit[Any], experiment: Experiment) -> list[dict[str, str]]:
    """Pictures of the first images of different classes that are classified rightly, and of the first that is not."""
    trace = pursuit.run_values(task.x_test[:300])
    right = trace.predictions == task.y_test[:300]
    shown: list[int] = []
    for i in np.flatnonzero(right).tolist():
        if task.y_test[i] not in task.y_test[shown] and len(shown) < N_EXAMPLES - 1:
            shown.append(i)
    shown += np.flatnonzero(~right).tolist()[:1]
    names = task.data.class_names
    found = []
    for k, i in enumerate(shown, start=1):
        explanation = dataclasses.replace(trace[i], classes=tuple(names))
        figure = image_trace(task.data.x_test[i], explanation, truth=names[int(task.y_test[i])])
        about = f"a pursuit on test image {i} of {task.images.name}"
        found.append(experiment.figure(figure, f"{task.images.name}-example-{k}.png", about, dpi=80))
    return found


def _map(task: ImageTask, experiment: Experiment) -> dict[str, Any]:
    """All pixels seen: both models, and the mean of what those of the pool believe."""
    start = time.perf_counter()
    evidence = log_evidence(task.vae, task.x_test, n_draws=N_DRAWS, seed=experiment.seed)
    vae = counted("vae", evidence.argmax(axis=1) == task.y_test, seconds=time.perf_counter() - start)
    experiment.say(f"MAP using Q with the VAE: {100 * vae.accuracy:.2f} %")
    start = time.perf_counter()
    joint = log_joint(task.examples(slice(None)), task.x_test, progress=experiment.progress)
    examples = counted("examples", joint.argmax(axis=1) == task.y_test, seconds=time.perf_counter() - start)
    experiment.say(f"MAP using Q with the training images: {100 * examples.accuracy:.2f} %")
    start = time.perf_counter()
    pool = task.pool(slice(None))
    joints = [log_joint(model, task.x_test, progress=experiment.progress) for model in pool]
    mean = np.mean([np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) for joint in joints], axis=0)
    pooled = counted("pool", mean.argmax(axis=1) == task.y_test, seconds=time.perf_counter() - start)
    experiment.say(f"MAP using Q with all pooled: {100 * pooled.accuracy:.2f} %")
    return {"vae": asdict(vae), "examples": asdict(examples), "pool": asdict(pooled)}


def _tree(task: ImageTask, say: Callable[[str], None]) -> dict[str, Any]:
    found = decision_tree(task.query_set, task.values, task.labels, task.x_test, task.y_test)
    say(f"decision tree of depth {found.details['depth']}: {100 * found.accuracy:.2f} %")
    return asdict(found)


def _black_box(task: ImageTask, experiment: Experiment) -> dict[str, Any]:
    """The better of the network and a tuned model, by their accuracy on held-out training images."""
    network = network_of(task, experiment)
    tuned = fit_tuned(
        task.query_set,
        task.values,
        task.labels,
        validation=task.images.network.validation,
        refit=task.images.network.refit,
        progress=experiment.progress,
        say=experiment.say,
    )
    fitted: list[Fitted] = [network, tuned]
    chosen = max(fitted, key=lambda each: each.validation_accuracy)
    both = {each.name: asdict(score(each, task.x_test, task.y_test)) for each in fitted}
    experiment.say(", ".join(f"{name}: {100 * found['accuracy']:.2f} %" for name, found in both.items()))
    return {"chosen": chosen.name, **both}


def _row(name: str, found: dict[str, Any], note: str = "", length: float | None = None) -> dict[str, Any]:
    n = found["n_inputs"]
    low, high = accuracy_interval(round(found["accuracy"] * n), n)
    return asdict(Row(name, found["accuracy"], low, high, length, n_inputs=n, seconds=found["seconds"], note=note))


def _pursuit_row(name: str, found: dict[str, Any]) -> dict[str, Any]:
    ms = f"{1000 * found['seconds_per_question']:.2f} ms a question, {found['pixels_seen']:.1f} pixels"
    return asdict(row_of(name, Point(**found["test"]), note=ms))


def _told(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """How the stopping rule of a pursuit was chosen, for people."""
    held_out, bend = found["held_out"], found["held_out_elbow"]
    return {
        "model": name,
        "epsilon": found["chosen"]["epsilon"],
        "patience": found["chosen"]["patience"],
        "held-out images": held_out["n_inputs"],
        "right there, %": round(100 * held_out["accuracy"], 2),
        "questions there": round(held_out["length"], 2),
        "elbow of the curve there": f"{100 * bend['accuracy']:.1f} % at {bend['length']:.1f} questions",
    }
