"""Speed, measured: what `tabia bench` runs. The figures kept for comparison lie in `benchmarks/` of the repository."""
