"""Biased random-key genetic algorithms on NumPy and Numba."""
