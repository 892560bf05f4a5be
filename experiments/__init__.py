"""Experiments: each table or figure has a command, and its results are committed."""
