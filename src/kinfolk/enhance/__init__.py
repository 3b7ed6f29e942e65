"""GraphEnhancer: better features from a neighbour graph, with or without labels."""

from kinfolk.enhance.estimator import GraphEnhancer, KeptTrainingFreeWarning
from kinfolk.enhance.maps import AttentionMaps, attention_maps

__all__ = ["AttentionMaps", "GraphEnhancer", "KeptTrainingFreeWarning", "attention_maps"]
