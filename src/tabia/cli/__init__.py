"""The `tabia` command: arguments in, printing out, nothing else."""
