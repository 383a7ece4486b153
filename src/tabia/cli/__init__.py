"""The `tabia` command: argument parsing and printing, nothing else.

- `main` assembles the commands; `groups` turns errors into sentences; `options` declares what commands share.
- Play and analyze: `play` (with `terminal` and `game_text`), `analyze`, `engine` (gtp and uci), `serve` (with
  `serve_people`, `serve_data` and `serve_recount`).
- Measure: `match` (also tournament), `rate`, `ladder`, `accuracy`, `illegal`, `prove`, `study`, `bench`.
- Train: `train` (also resume and report), `metrics`, `recipes`.
- Games and agents: `games` (also show and check), `agents`, `export`, `doctor`.
- What they share: `printing` (tables, JSON, progress bars), `recording` (record files), `actors` and `jobs` (clusters),
  `interrupts` (Ctrl-C and SIGTERM), `extras`; displays: `training_display`, `training_panel`, `training_stop`,
  `study_progress`.

No module imports JAX at the top: a command imports what it needs when it runs, so `tabia --help` is fast.
"""
