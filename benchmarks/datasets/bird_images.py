"""The images of CUB-200-2011, for those who have unpacked them, small enough for a network on a small computer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets.birds import PAGE
from benchmarks.datasets.files import find_file, not_found

PLACES = ("CUB_200_2011/images", "cub/images", "images")
"""As the archive unpacks, or beside the texts."""


def cub_images(ids: Sequence[str], *, size: int = 64) -> Any:
    """(B, size, size, 3) uint8 images, called as ``ids_train`` and ``ids_test`` of `cub` have it.

    They are looked for as the archive unpacks them into the data folder, cut to a square about the middle and made
    smaller. Needs Pillow, which comes with ``pip install infopursuit[plots]``. All 11,788 of 64 x 64 are 145 MB.
    """
    if isinstance(ids, str) or not len(ids):
        raise ValueError(f"ids is {ids!r}; give a list of names of images, such as ids_train of datasets.cub()")
    if isinstance(size, bool) or int(size) != size or size < 1:
        raise ValueError(f"size={size!r} must be a whole number of pixels, 1 or more")
    images = np.empty((len(ids), int(size), int(size), 3), dtype=np.uint8)
    for i, name in enumerate(ids):
        path = find_file(str(name), PLACES)
        if path is None:
            advice = f"Unpack the archive CUB_200_2011.tgz with its images there; it is at {PAGE}."
            raise not_found(f"{PLACES[0]}/{name}", advice)
        images[i] = _read(path, int(size))
    return images


def _read(path: Path, size: int) -> Any:
    """(size, size, 3) the middle of one image."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "images are read with Pillow, which is not installed; pip install infopursuit[plots]", name=error.name
        ) from None
    try:
        with Image.open(path) as image:
            square = ImageOps.fit(image.convert("RGB"), (size, size))
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(f"{path} is no image, or is cut off: {error}") from None
    return np.asarray(square)
