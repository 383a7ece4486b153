"""The `tabia` command: argument parsing and printing, nothing else.

- `main` assembles the commands; `groups` turns errors into sentences; `options` declares what commands share.
- Commands: `play`, `analyze`, `games` (also show and check), `agents`, `match` (also tournament), `rate`, `ladder`,
  `accuracy`, `bench`, `train` (also resume, report, recipes and prove), `metrics`.
- `printing` writes tables, JSON and progress bars; `interrupts` ends the process on Ctrl-C and SIGTERM.

No module imports JAX at the top: a command imports what it needs when it runs, so `tabia --help` is fast.
"""
