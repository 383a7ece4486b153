"""Training runs: read, watched, started and stopped."""
