"""bsuite's sweeps on our worlds."""
