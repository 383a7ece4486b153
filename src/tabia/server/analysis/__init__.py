"""Searches and analyses: the worker that batches them, reviews, explanations, exact play."""
