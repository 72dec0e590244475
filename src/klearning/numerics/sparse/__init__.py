"""Sparse transition rows that grow inside kernels."""
