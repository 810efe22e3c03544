"""Table 2: explanations by attribution maps of a black box beside those of Information Pursuit, of the same length."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.attribution import OURS, explain_by_attribution
from benchmarks.experiment import Experiment
from benchmarks.paired import paired
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from benchmarks.recipes.images import VAE, network_of, pursuit_part
from benchmarks.sufficiency import posteriors_after
from infopursuit.evaluation.measures import counted
from infopursuit.pursuit.stopping import Confidence, MaxQueries


@dataclass(frozen=True)
class AttributionRecipe:
    """n_steps: of the path of integrated gradients. n_background: training images that DeepSHAP compares with."""

    n_steps: int = 20
    n_background: int = 10


RECIPE = AttributionRecipe()
PAPER = {
    "mnist": {OURS: 96.78, "IG": 78.48, "IG (absolute)": 70.39, "DeepSHAP": 87.98, "DeepSHAP (absolute)": 84.80},
    "kmnist": {OURS: 91.02, "IG": 84.87, "IG (absolute)": 84.72, "DeepSHAP": 88.90, "DeepSHAP (absolute)": 84.56},
    "fashion": {OURS: 85.60, "IG": 78.49, "IG (absolute)": 64.95, "DeepSHAP": 88.36, "DeepSHAP (absolute)": 84.35},
}


def attribution(experiment: Experiment) -> dict[str, Any]:
    """All three sets; the stopping rule and the black box are those of Table 1."""
    found = {name: _one(name, experiment) for name in PAPER}
    table, differences = [], []
    for name, each in found.items():
        for row in each["rows"]:
            low, high = (round(100 * row[end], 2) for end in ("low", "high"))
            table.append(
                {
                    "data": name,
                    "explanation": row["name"],
                    "right under the model, %": f"{100 * row['accuracy']:.2f} ({low} to {high})",
                    "the paper, %": PAPER[name][row["name"]],
                    "questions": round(row["length"], 2),
                    "test images": row["n_inputs"],
                }
            )
        differences += each["differences"]
    return experiment.finish(
        {
            "data": {"recipe": asdict(RECIPE), "sets": list(PAPER)},
            "tables": {"Most probable class given the pixels of an explanation, one VAE for all": table},
            "differences": differences,
            "parts": found,
        }
    )


def _one(name: str, experiment: Experiment) -> dict[str, Any]:
    """One set of images."""
    recipe = IMAGE_SETS[name]
    first = Experiment(
        name, experiment.folder, experiment.n_inputs, experiment.seed, experiment.say, experiment.progress
    )

    def make() -> dict[str, Any]:
        task = ImageTask(recipe, experiment.n_inputs)
        chosen = pursuit_part(task, VAE, first)["chosen"]
        network = network_of(task, first)
        stopping = Confidence(chosen["epsilon"]) | MaxQueries(recipe.most_queries)
        pursuit = replace(task.with_vae(slice(None), chosen["epsilon"], chosen["patience"]), stopping=stopping)
        trace = pursuit.run_values(task.x_test, progress=experiment.progress)
        drawn = np.random.default_rng((experiment.seed, 1)).permutation(len(task.values))[: RECIPE.n_background]
        explanations = {OURS: trace.queries} | explain_by_attribution(
            network,
            task.x_test,
            trace.length,
            task.values[drawn].astype(np.int64),
            n_steps=RECIPE.n_steps,
            progress=experiment.progress,
        )
        right = {}
        for method, queries in explanations.items():
            posterior, _ = posteriors_after(pursuit, task.x_test, queries, progress=experiment.progress)
            right[method] = posterior.argmax(axis=1) == task.y_test
            experiment.say(f"{name}, {method}: {100 * right[method].mean():.2f} %")
        return {
            "rows": [asdict(counted(method, each, length=trace.length)) for method, each in right.items()],
            "differences": [
                asdict(paired(f"{name}: {OURS} - {method}", right[OURS], each))
                for method, each in right.items()
                if method != OURS
            ],
        }

    settings = [recipe, RECIPE]
    return dict(experiment.part(name, settings, make))
