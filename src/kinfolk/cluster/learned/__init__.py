"""Clusterers that learn from labelled identities. They need torch."""

from kinfolk._core import needs_torch  # noqa: F401
