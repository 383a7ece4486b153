"""Live games: one game as a state machine, the hub that keeps them, hints and imported games."""
