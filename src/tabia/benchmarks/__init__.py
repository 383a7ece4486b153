"""Benchmarks behind `tabia bench`: the speed of games, search, networks, training and the first move.

`bodies` also compares what networks learn, on the self-play of a run that `recorded` loads.

Each module has `run`, which yields one row per measurement as soon as it is known, and `METHOD`, which says how it was
measured. `report` writes rows with what makes them comparable: command, machine, versions, date and commit.
"""
