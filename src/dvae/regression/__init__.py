"""Regression from features of DAGs: linear models, sparse Gaussian processes, plain features."""
