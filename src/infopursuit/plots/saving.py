"""Pictures written to files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infopursuit.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def save(picture: Axes | Figure, file: str | Path, **options: Any) -> Path:
    """Write what a function of this package has drawn; the ending of the file says in which format.

    picture: axes or a figure. options: those of matplotlib's ``savefig``, such as ``dpi=80``. A file that is there
    already is replaced at once, when the new one is complete. Returns the file.
    """
    path = Path(file)
    figure: Any = picture
    while not hasattr(figure, "savefig"):  # axes of a part of a figure
        figure = figure.figure
    kind = path.suffix.removeprefix(".").lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"file={str(file)!r} has no ending that says its format; give .png, .svg or .pdf")
    written = BytesIO()
    figure.savefig(written, format=kind, **options)
    write_atomically(path, written.getvalue())
    return path
