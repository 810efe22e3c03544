"""HTML reports of explanations, each one file that needs nothing else (extra ``report``).

>>> import infopursuit as ip
>>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.01]])
>>> trace = ip.generative_pursuit(model, ip.queries.concepts(["has wings"]), classes=["bird", "cat"]).run([[1]])
>>> page = ip.report.write(trace)
>>> page.startswith("<!doctype html>"), "has wings" in page
(True, True)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from infopursuit.presentation.report.page import explanation_page, trace_page
from infopursuit.presentation.report.summary import Summary
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.trace import Trace
from infopursuit.support.files import write_atomically

__all__ = ["Summary", "explanation_page", "trace_page", "write"]


def write(explained: Trace | Explanation, path: str | Path | None = None, **options: Any) -> str:
    """Write explanations as one HTML file that needs nothing else.

    Parameters
    ----------
    explained : Trace or Explanation
        Of a trace: a summary, an index that can be filtered, and the first explanations step by step.
        Of an explanation: all its steps.
    path : str or Path, optional
        Where the file goes; by default the page is only returned.
    **options
        ``title`` and ``language``, such as "de"; English by default. Of a trace further ``images``
        (what was asked about, for patch queries), ``truth`` (the true classes), ``names`` (of the
        inputs) and ``max_inputs`` (explanations in full); of an explanation ``image``, ``truth`` and
        ``about`` (names of the case and the model, see `infopursuit.presentation.case.About`).

    Returns
    -------
    str
        The page.
    """
    page = trace_page(explained, **options) if isinstance(explained, Trace) else explanation_page(explained, **options)
    if path is not None:
        write_atomically(Path(path), page.encode())
    return page
