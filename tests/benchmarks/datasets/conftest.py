"""The fixtures of tests that read data files."""

from data_fixtures import folder, real_data  # noqa: F401
