"""Ship the network of a finished run as an agent: weights, learning curves, and drafts of what is written by hand.

    python tools/ship_agent.py runs/go9 pgx:go_9x9            # the best checkpoint as az:pgx:go_9x9
    python tools/ship_agent.py runs/laptop@20 connect4@20     # one more version of an agent

The weights are stored in 8 bits. The curves of losses and games come from the run's metrics. `agent.toml` and the card
are drafted from the run only if there are none; strength, a game and weaknesses are left to fill in.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tabia.players.agents import pack
from tabia.training.report.report import write_report
from tabia.training.run.directory import RunDirectory, as_run
from tabia.training.run.metrics import read, read_machines

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "agents"
CURVES = {
    "losses": "Policy and value loss by iteration",
    "games": "Game length, first seat's score and draw rate by iteration",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="RUN[@VERSION]", help="a run directory; its best checkpoint by default")
    parser.add_argument("name", metavar="NAME[@VERSION]", help="the agent: othello, pgx:hex")
    chosen = parser.parse_args()
    folder = pack(chosen.source, chosen.name)
    print(f"{folder}: weights")
    if "@" in chosen.name:
        return
    run, page = as_run(chosen.source.partition("@")[0]), chosen.name.replace(":", "-")
    for path in copy_curves(run, page):
        print(f"{path}: copied")
    for path, text in ((folder / "agent.toml", description(run, page)), (PAGES / f"{page}.md", card(run, chosen.name))):
        if path.exists():
            print(f"{path}: exists; update it by hand")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path}: a draft; fill in what is in capitals")


def copy_curves(run: RunDirectory, page: str) -> list[Path]:
    """The figures of the run's report that a card shows."""
    write_report(run, rate=False)
    drawn = [name for name in CURVES if (run.path / "figures" / f"{name}.svg").exists()]
    return [
        shutil.copyfile(run.path / "figures" / f"{name}.svg", PAGES / "curves" / f"{page}-{name}.svg") for name in drawn
    ]


def description(run: RunDirectory, page: str) -> str:
    """A draft of `agent.toml`."""
    machine = read_machines(run)[-1]
    return f"""\
about = "WHAT IT PLAYS, how long it was trained, on what."
device = "{machine.get("device")}"
date = "{machine.get("date")}"
card = "docs/agents/{page}.md"

[[strength]]
what = "points against OPPONENT, 64 simulations"
figure = "FIGURE"
interval = "LOW to HIGH"
command = "tabia match {run.config().game} az:NAME,simulations=64 OPPONENT --games 200"
"""


def card(run: RunDirectory, name: str) -> str:
    """A draft of the agent's page."""
    config, last, machine = run.config(), read(run)[-1], read_machines(run)[-1]
    minutes, seconds = divmod(round(last["seconds"]), 60)
    page = name.replace(":", "-")
    curves = "\n".join(f"![{words}](curves/{page}-{curve}.svg)" for curve, words in CURVES.items())
    return f"""\
# az:{name}

WHAT IT PLAYS: THE NETWORK; weights in 8 bits (SIZE MB).

```console
$ tabia play {config.game} --against az:{name},simulations=64
$ tabia train {config.game} --recipe {config.recipe}       # train one like it
```

| | |
|---|---|
| recipe | `{config.recipe}`, seed {config.seed} |
| trained | {machine.get("date")} on {machine.get("device")}, {minutes} min {seconds} s of wall-clock time |
| code | commit {machine.get("commit")} |
| games | {last["total_games"]:,} games, {last["positions"]:,} positions, {last["iteration"]:,} iterations |
| knowledge | the rules alone |

## Strength

TABLES WITH INTERVALS, AND THE COMMANDS.

## Learning curves

{curves}

## A game

A RECORD AND ITS LAST POSITION.

## Known weaknesses

WHAT IT GETS WRONG, AND WHERE THE FIGURES END.
"""


if __name__ == "__main__":
    main()
