"""From a belief to a plan."""
