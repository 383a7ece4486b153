"""Doors for other people's games: pgx, OpenSpiel, a file of your own, any plain Python class."""
