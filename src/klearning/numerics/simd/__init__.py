"""Vector instructions in kernels: eight lanes at a time."""
