"""The configuration of a run.

`schema` has every setting with its default and bounds, `checks` refuses what does not work together, `toml` reads and
writes them, `recipes` are named configurations.
"""
