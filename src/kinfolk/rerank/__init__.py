"""Re-rankers: the gallery ordered for each query, better than by cosine alone. All on lists and sparse rows."""

from kinfolk.rerank._ranking import Ranking
from kinfolk.rerank.band import METHODS, band
from kinfolk.rerank.cosine import cosine
from kinfolk.rerank.expanded_cross_neighborhood import expanded_cross_neighborhood
from kinfolk.rerank.k_reciprocal import k_reciprocal
from kinfolk.rerank.local_blurring import local_blurring
from kinfolk.rerank.query_expansion import query_expansion

__all__ = [
    "METHODS",
    "Ranking",
    "band",
    "cosine",
    "expanded_cross_neighborhood",
    "k_reciprocal",
    "local_blurring",
    "query_expansion",
]
