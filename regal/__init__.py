"""Decide where and when the ops of a computation graph run."""
