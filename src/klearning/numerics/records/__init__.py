"""Agents' memories: nested NamedTuples of arrays, flattened, restored, widened and validated."""
