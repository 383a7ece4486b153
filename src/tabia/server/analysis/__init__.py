"""Searches and analyses: the worker that batches them, the programs it runs, reviews, explanations, exact play."""
