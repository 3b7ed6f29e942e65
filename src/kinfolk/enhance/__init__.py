"""GraphEnhancer: better features from a neighbour graph, with or without labels."""

from kinfolk.enhance._learning import KeptTrainingFreeWarning
from kinfolk.enhance.attention_maps import AttentionMaps, attention_maps
from kinfolk.enhance.graph_enhancer import GraphEnhancer

__all__ = ["AttentionMaps", "GraphEnhancer", "KeptTrainingFreeWarning", "attention_maps"]
