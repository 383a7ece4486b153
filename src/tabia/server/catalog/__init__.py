"""What clients may name: games and agents that the operator allows."""
