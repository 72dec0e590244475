"""What may be known: priors, posteriors, draws."""
