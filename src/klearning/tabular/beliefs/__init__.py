"""Priors, posteriors and draws from them."""
