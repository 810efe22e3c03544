"""A folder of images as inputs; those in folders of their own are labelled by the name of that folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.queries.patches import Patches

IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".tif", ".tiff", ".webp")


def list_images(folder: Path) -> list[str]:
    """The images of a folder and of the folders in it, in the order of their names, which is that of the inputs."""
    found = [path for path in folder.glob("*") if path.suffix.lower() in IMAGES and path.is_file()]
    found += [path for path in folder.glob("*/*") if path.suffix.lower() in IMAGES and path.is_file()]
    return sorted(path.relative_to(folder).as_posix() for path in found if not path.name.startswith("."))


def label_of(name: str) -> str | None:
    """The folder that an image is in; None where it is in none of its own."""
    return name.split("/", 1)[0] if "/" in name else None


def read_image(file: Path, queries: Patches) -> Any:
    """(rows, columns) of grey pixels as the model's queries take them, 0 to 255, or 0 and 1."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise ImportError(f"images need pillow; pip install 'infopursuit[plots]' ({error})") from None
    rows, columns = queries.shape
    try:
        with Image.open(file) as image:
            if image.size != (columns, rows):
                raise ValueError(
                    f"{file} is {image.height} pixels high and {image.width} wide; the model asks about images of "
                    f"{rows} x {columns}"
                )
            pixels = np.asarray(image.convert("L"))
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"{file} cannot be read as an image: {error}") from None
    return pixels // 255 if queries.threshold is None and np.isin(pixels, (0, 255)).all() else pixels
