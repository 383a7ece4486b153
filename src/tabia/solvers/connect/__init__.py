"""The parts of the Connect solver; its door is `tabia.search.connect_solver`."""
