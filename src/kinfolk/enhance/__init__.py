"""GraphEnhancer: better features from a neighbour graph, with or without labels."""

from kinfolk.enhance.estimator import GraphEnhancer, KeptTrainingFreeWarning

__all__ = ["GraphEnhancer", "KeptTrainingFreeWarning"]
