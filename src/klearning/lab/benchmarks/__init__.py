"""The field's own benchmarks, by their own definitions."""
