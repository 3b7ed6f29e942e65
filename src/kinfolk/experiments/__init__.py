"""The tables and figures of the paper, and the paper's own numbers as data files."""
