"""Imported first by the packages that need torch: without torch, MissingExtraError has the command to install it."""

from kinfolk._core.extras import require

require("torch", extra="train")
