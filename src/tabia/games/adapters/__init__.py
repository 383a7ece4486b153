"""Adapters that turn other games into games of the protocol.

pgx     games of the pgx library; pgx_stones and pgx_pieces name and draw their moves
spiel   games of the OpenSpiel library
files   a class in a user's Python file: array rules (checked by tracing) or a plain Python class
host    any plain Python class; plain reads its objects, objects caches them, equality compares them
source  loads the file and reads parameters
"""
