"""Scores of clusterings, retrieval, re-identification and graphs. Labels below zero mean unknown."""

from kinfolk.metrics._contingency import contingency
from kinfolk.metrics.bootstrap import Difference, Interval, bootstrap, compare, resampled
from kinfolk.metrics.clustering import (
    ClusteringReport,
    Score,
    SizeBucket,
    VMeasure,
    ari,
    bcubed,
    by_class_size,
    clustering_report,
    nmi,
    pairwise,
    v_measure,
)
from kinfolk.metrics.cosine_ranking import cosine_ranking
from kinfolk.metrics.feature_scores import FeatureScores, feature_scores
from kinfolk.metrics.identity_scores import (
    IdentityScores,
    clustering_scores,
    graph_scores,
    reid_scores,
    retrieval_scores,
)
from kinfolk.metrics.pairs import Roc, edge_noise_rate, pair_auc, roc, tpr_at_fpr
from kinfolk.metrics.pool_queries import PooledQueries, pool_queries
from kinfolk.metrics.reid import ReidQueries, ReidReport, ReidScorer, reid, reid_queries
from kinfolk.metrics.retrieval import (
    QueryScores,
    RetrievalReport,
    cmc,
    mean_average_precision,
    mean_inverse_negative_penalty,
    query_scores,
    r_precision,
    retrieval_report,
)

__all__ = [
    "ClusteringReport",
    "Difference",
    "FeatureScores",
    "IdentityScores",
    "Interval",
    "PooledQueries",
    "QueryScores",
    "ReidQueries",
    "ReidReport",
    "ReidScorer",
    "RetrievalReport",
    "Roc",
    "Score",
    "SizeBucket",
    "VMeasure",
    "ari",
    "bcubed",
    "bootstrap",
    "by_class_size",
    "clustering_report",
    "clustering_scores",
    "cmc",
    "compare",
    "contingency",
    "cosine_ranking",
    "edge_noise_rate",
    "feature_scores",
    "graph_scores",
    "mean_average_precision",
    "mean_inverse_negative_penalty",
    "nmi",
    "pair_auc",
    "pairwise",
    "pool_queries",
    "query_scores",
    "r_precision",
    "reid",
    "reid_queries",
    "reid_scores",
    "resampled",
    "retrieval_report",
    "retrieval_scores",
    "roc",
    "tpr_at_fpr",
    "v_measure",
]
