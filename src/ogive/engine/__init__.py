"""From computations that front ends describe to kernels: fused, compiled once, and kept under their identity."""
