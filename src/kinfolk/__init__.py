"""kinfolk finds which embeddings belong together."""
