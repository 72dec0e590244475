"""Gymnasium's toy-text problems and classic control, with textbook Q-learning for comparison."""
