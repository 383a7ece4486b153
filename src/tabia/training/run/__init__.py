"""The run directory and everything in it.

`directory` is the directory itself, `checkpoint` saves and loads the state, `metrics` writes metrics.jsonl and
machine.json, `stored_games` writes self-play games, and `export` converts metrics for other programs.
"""
