"""Importers: each `load(source) -> ComputationGraph`, its framework imported inside."""
