"""Checks of a table before a classifier is fitted: label leakage, useless and redundant queries, faulty rows."""

from infopursuit.data_checks.checks import excluded_findings, lint
from infopursuit.data_checks.report import Finding, LintReport

__all__ = ["Finding", "LintReport", "excluded_findings", "lint"]
