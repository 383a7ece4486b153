"""Train agents by their recipes, one after another or side by side, and pack each run into one small file.

    python tools/train_agents.py go9-gpu --minutes 8.5 --out out
    python tools/train_agents.py gardner-chess-gpu star-gpu@two --together 2 --minutes 8.5 --out out

For a machine that is there only for a while: checkpoints hold weights alone, because a replay buffer takes long to
write; strength is not measured; and a run that lasts longer than it should is stopped and saved. `--set` changes any of
this. OUT/NAME.tar.gz holds a run directory, NAME, for `tabia report`, `tools/ship_agent.py` and players (`az:NAME`):
config.toml, metrics.jsonl, machine.json, the report, the command's output in train.log, and weights in 8 bits. Older
checkpoints are left out if the file would exceed `--megabytes`.

Games of pgx need pgx and svgwrite, pure Python packages: put a directory with both on PYTHONPATH. Runs that share a
device share its memory in equal parts.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ENVIRONMENT = dict(os.environ)  # of the runs; this process only packs, and leaves the device to them
os.environ["JAX_PLATFORMS"] = "cpu"

from tabia.core import files  # noqa: E402
from tabia.networks import weights  # noqa: E402
from tabia.players.runs import WEIGHTS, steps  # noqa: E402
from tabia.training.config import recipes  # noqa: E402
from tabia.training.report.report import write_report  # noqa: E402
from tabia.training.run.directory import RunDirectory  # noqa: E402

BRIEF = ("evaluation.games=0", "checkpoints.resumable=0", "checkpoints.minutes=2", "checkpoints.every=1000000")
SHARE = 0.9  # of the device's memory, for all runs together
MARGIN = 60.0  # seconds after its minutes in which a run must have ended
LOG = "train.log"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+", metavar="RECIPE[@VARIANT]", help="trained in this order")
    parser.add_argument("--out", type=Path, required=True, help="directory for the packed runs")
    parser.add_argument("--minutes", type=float, help="length of each run; by default as in its recipe")
    parser.add_argument("--together", type=int, default=1, metavar="N", help="runs side by side")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting of every run")
    parser.add_argument("--megabytes", type=float, default=15.5, help="limit of each packed run")
    words = parser.parse_args(arguments)
    words.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(words.together) as workers:
        done = list(workers.map(partial(train_and_pack, words=words, folder=Path(folder)), words.recipes))
    return 0 if all(done) else 1


def train_and_pack(recipe: str, *, words: argparse.Namespace, folder: Path) -> bool:
    """Train by one recipe and pack what there is of the run; whether it ended by itself."""
    run, started = folder / recipe.replace("@", "-"), time.monotonic()
    status = train(recipe, run, words)
    print(f"{recipe}: exit status {status} after {(time.monotonic() - started) / 60:.1f} minutes", flush=True)
    log = run.with_suffix(".log").read_text(encoding="utf-8")
    print("\n".join(f"  {line}" for line in log.splitlines()[-3 if status == 0 else -40 :]), flush=True)
    if (run / "checkpoints").is_dir():
        target = words.out / f"{run.name}.tar.gz"
        files.write_atomic(target, pack(run, log, limit=round(words.megabytes * 2**20)))
        print(f"{recipe}: {target}, {target.stat().st_size / 2**20:.1f} MiB", flush=True)
    return status == 0


def train(recipe: str, run: Path, words: argparse.Namespace) -> int:
    """Run `tabia train`, and stop it if it lasts too long; its exit status."""
    config = recipes.load(recipe).config()
    minutes = config.minutes if words.minutes is None else words.minutes
    command = [sys.executable, "-m", "tabia", "train", config.game, "--recipe", recipe, "--out", str(run)]
    command += ["--seed", str(words.seed), *(["--minutes", str(minutes)] if minutes else [])]
    command += [word for setting in (*BRIEF, *words.set) for word in ("--set", setting)]
    environment = dict(ENVIRONMENT)
    if words.together > 1:
        environment.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{SHARE / words.together:.3f}")
    with run.with_suffix(".log").open("w", encoding="utf-8") as log:
        print(" ".join(command), file=log, flush=True)
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            return process.wait(60 * minutes + MARGIN if minutes else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)  # it saves what it has
            return process.wait()


def pack(run: Path, log: str, *, limit: int) -> bytes:
    """The run as a compressed archive of at most `limit` bytes, without its oldest checkpoints if necessary."""
    write_report(RunDirectory(run), rate=False)
    (run / LOG).write_text(log, encoding="utf-8")
    kept = list(steps(run).values())
    for step in kept:
        held = weights.load(run / "checkpoints" / step / WEIGHTS)
        weights.save(run / "checkpoints" / step / WEIGHTS, held.network, held.weights, held.metadata, store="int8")
    while len(packed := archive(run, kept)) > limit and len(kept) > 1:
        del kept[0]
    return packed


def archive(run: Path, kept: Sequence[str]) -> bytes:
    """What is worth keeping of a run, with these checkpoints."""
    names = ["config.toml", "metrics.jsonl", "machine.json", "report.md", LOG]
    chosen = [*(run / name for name in names), *sorted((run / "figures").glob("*")), *sorted((run / "games").glob("*"))]
    chosen += [run / "checkpoints" / step / WEIGHTS for step in kept]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for path in chosen:
            if path.is_file():
                tar.add(path, path.relative_to(run.parent))
    return content.getvalue()


if __name__ == "__main__":
    sys.exit(main())
