"""Experiments as data: specs, stores and sweeps; analysis, figures, reports, papers, benchmarks, and the theory."""
