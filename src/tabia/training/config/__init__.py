"""The configuration of a run.

`schema` has every setting with its default and bounds, `toml` reads and writes them, `recipes` are named
configurations.
"""
