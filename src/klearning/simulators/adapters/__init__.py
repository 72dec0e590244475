"""Simulators of other libraries and shapes, as a learner reads them."""
