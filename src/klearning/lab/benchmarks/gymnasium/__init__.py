"""Gymnasium's small problems, and textbook Q-learning beside them."""
