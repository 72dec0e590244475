"""VBOS: the best mixture of the arms of a bandit."""
