"""All recipes by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.experiment import Experiment
from benchmarks.recipes.answer_noise import answer_noise
from benchmarks.recipes.attribution import attribution
from benchmarks.recipes.calibration import calibration_splits
from benchmarks.recipes.cub import cub
from benchmarks.recipes.huffpost import huffpost
from benchmarks.recipes.images import images
from benchmarks.recipes.novelty import novelty
from benchmarks.recipes.patch_sizes import patch_sizes
from benchmarks.recipes.samplers import samplers


@dataclass(frozen=True)
class Recipe:
    """An experiment: what it shows, and what runs it."""

    summary: str
    run: Callable[[Experiment], dict[str, Any]]


RECIPES = {
    # in the order in which `all` runs them
    "mnist": Recipe("Table 1, digits: 676 patches of 3 x 3 pixels", partial(images, "mnist")),
    "kmnist": Recipe("Table 1, Japanese characters: 676 patches of 3 x 3 pixels", partial(images, "kmnist")),
    "fashion": Recipe("Table 1, clothes: 676 patches of 3 x 3 pixels", partial(images, "fashion")),
    "huffpost": Recipe("Table 1, headlines: 1,000 words, five folds", huffpost),
    "cub": Recipe("Table 1, birds: 312 attributes, answers simulated", cub),
    "attribution": Recipe("Table 2: explanations by attribution maps of a black box", attribution),
    "patch-sizes": Recipe("the table of patch sizes, 1 x 1 to 4 x 4", patch_sizes),
    "answer-noise": Recipe("accuracy with one answer in ten wrong, with and without a noise model", answer_noise),
    "mnist-samplers": Recipe("every way to a posterior, on the same images", samplers),
    "calibration-digits": Recipe(
        "calibrated stopping and sets: scikit-learn's digits", partial(calibration_splits, "digits")
    ),
    "calibration-mnist": Recipe("calibrated stopping and sets: MNIST", partial(calibration_splits, "mnist")),
    "calibration-fashion": Recipe("calibrated stopping and sets: clothes", partial(calibration_splits, "fashion")),
    "calibration-huffpost": Recipe("calibrated stopping and sets: headlines", partial(calibration_splits, "huffpost")),
    "novelty": Recipe("clothes and random pixels that the model of digits should detect as novel", novelty),
}
