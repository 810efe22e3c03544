"""HTML reports of explanations, each one file that needs nothing else (extra ``report``).

>>> import infopursuit as ip
>>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.01]])
>>> trace = ip.Pursuit.of(model, ip.queries.concepts(["has wings"]), classes=["bird", "cat"]).run([[1]])
>>> page = trace.to_html()
>>> page.startswith("<!doctype html>"), "has wings" in page
(True, True)
"""

from infopursuit.report.page import explanation_page, trace_page
from infopursuit.report.summary import Summary

__all__ = ["Summary", "explanation_page", "trace_page"]
