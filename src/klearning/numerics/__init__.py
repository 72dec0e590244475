"""The base of all other packages: array types, compiled kernels, SIMD, sparse rows, statistics, files, input checks."""
