"""Loops that are compiled when they are first used, and kept compiled for the next process."""

from __future__ import annotations

from numba import njit

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
"""Sums may be added up in any order, so that they use the whole width of the processor; not-a-number stays what it
is. Without Python's lock, so that histories can be worked on side by side."""
