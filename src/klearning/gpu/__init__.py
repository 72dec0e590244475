"""Many seeds at once on a GPU: one thread per seed, float32, the kernels of the CPU in another order of loops."""
