"""Algorithms shared by the clusterers: union-find, hierarchies, linkage, size limits, the Potts model."""
