"""How kernels are declared, compiled, linked and cached."""
