"""The parts of particular studies, and what they measure with.

- Chinese checkers (Schulte 2021): `checkers`, `checkers_versions`, `checkers_seats`, `checkers_positions`.
- Connect boards (Glimmerfors 2022): `growth`, `widths`, `diagnosis`.
- Mini AlphaGo (Goldberg & Ishay 2017): `mini_alphago`; by the authors' published code: `listing`, `listing_matches`.
- A cluster with late weights and lost chunks: `simulated_actors`.
- For several studies: `pictures` (boards with a network's policy), `on_cpu` (players that compute on the CPU).
"""
