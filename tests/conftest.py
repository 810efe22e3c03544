"""Steady tests: one thread, and hypothesis draws the same examples every time.

This file also puts ``tests/`` on the path, so that every test can import `enumerator` and `worlds`.
"""

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("steady", derandomize=True, deadline=None, database=None, max_examples=40)
settings.load_profile("steady")
