"""Bayesian networks: tables of data, scores of networks, structure learning."""
