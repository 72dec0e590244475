"""Experiments that survive: specs as data, a crash-safe store, parallel sweeps, honest statistics."""
