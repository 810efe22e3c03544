"""Trying the package with what it should refuse: altered model folders, and the limits within which it must stay."""
