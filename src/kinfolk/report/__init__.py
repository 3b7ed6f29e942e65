"""Figures and the self-contained HTML report."""

from kinfolk.report.page import Card, Figure, Page, Table, write_page

__all__ = ["Card", "Figure", "Page", "Table", "write_page"]
