"""Imported first by the packages that cannot do without torch: says in one sentence how to install it."""

from kinfolk._core.extras import require

require("torch", extra="train")
