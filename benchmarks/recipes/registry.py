"""All recipes by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.experiment import Experiment
from benchmarks.recipes.attribution import attribution
from benchmarks.recipes.cub import cub
from benchmarks.recipes.huffpost import huffpost
from benchmarks.recipes.images import images
from benchmarks.recipes.patch_sizes import patch_sizes
from benchmarks.recipes.samplers import samplers
from benchmarks.recipes.trust import trust
from benchmarks.recipes.unlike import unlike
from benchmarks.recipes.wrong_answers import wrong_answers


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
    "wrong-answers": Recipe("what wrong answers cost, and what is left of it where they are weighed", wrong_answers),
    "mnist-samplers": Recipe("every way to a posterior, on the same images", samplers),
    "trust-digits": Recipe("calibrated stopping and sets: scikit-learn's digits", partial(trust, "digits")),
    "trust-mnist": Recipe("calibrated stopping and sets: MNIST", partial(trust, "mnist")),
    "trust-fashion": Recipe("calibrated stopping and sets: clothes", partial(trust, "fashion")),
    "trust-huffpost": Recipe("calibrated stopping and sets: headlines", partial(trust, "huffpost")),
    "unlike": Recipe("clothes and random pixels that the model of digits should say are unlike it", unlike),
}
