"""Seconds per iteration of the same run as a plain loop, on four host devices, and with one and two actors on Ray.

    python tools/measure_scaling.py --out benchmarks/scaling-measured.json

Each case is a process of its own that computes with one thread per device or actor. Iterations before everything is
compiled are left out. CPU time is that of the process and of its actors. The wall clock counts only if the machine does
nothing else. Results are compared with the model in docs/explanation/scaling.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

CASES = ("loop", "devices-4", "actors-1", "actors-2")
SETTINGS = ("selfplay.games=512", "replay.min_positions=512", "evaluation.games=0", "checkpoints.every=1000000")
WARM_UP = 6  # iterations
_BLOCK = 10  # iterations in a row: the fastest of them are the least disturbed
ONE_THREAD = {"NPROC": "1"}  # read by XLA when it starts; its flags for threads leave out some libraries


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--case", choices=CASES)
    options.add_argument("--recipe", default="connect3")
    options.add_argument("--iterations", type=int, default=40)
    options.add_argument("--repeats", type=int, default=1)
    options.add_argument("--out", type=Path)
    chosen = options.parse_args()
    if chosen.case:
        print(json.dumps(measure(chosen.case, chosen.recipe, chosen.iterations)), flush=True)
        return
    rows = []
    for _ in range(chosen.repeats):  # in turns, so that a noisy minute does not hit one case alone
        for case in CASES:
            rows.append(in_process(case, chosen))
            print(rows[-1], flush=True)
    if chosen.out:
        from tabia.training.run.metrics import describe_machine

        content = {"command": " ".join(sys.argv), **describe_machine(), "settings": SETTINGS, "rows": rows}
        chosen.out.write_text(json.dumps(content, indent=2) + "\n")


def in_process(case: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure a case in a process with its own devices."""
    flags = "--xla_force_host_platform_device_count=4" if case == "devices-4" else ""
    command = [sys.executable, __file__, "--case", case, "--recipe", chosen.recipe]
    command += ["--iterations", str(chosen.iterations)]
    variables = {**os.environ, **ONE_THREAD, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(case: str, recipe: str, iterations: int) -> dict[str, Any]:
    """The medians of a run's iterations, after the first ones."""
    from tabia.core import devices
    from tabia.training import BaseObserver, Training, recipes, train
    from tabia.training.config.toml import with_assignments
    from tabia.training.iteration import Iteration
    from tabia.training.selfplay.play import Plies

    class Clocks(BaseObserver):
        """Notes wall clock and CPU time after each iteration."""

        def __init__(self) -> None:
            self.wall, self.cpu, self.extra = list[float](), list[float](), list[dict[str, Any]]()

        def on_iteration(self, training: Training, result: Any) -> dict[str, Any]:
            self.wall.append(time.perf_counter())
            self.cpu.append(time.process_time() + actor_seconds())
            self.extra.append(result.fields())
            return {}

    class Timed(Iteration):
        """Notes how long it plays and learns."""

        def play(self) -> Plies:
            started = time.perf_counter()
            plies = super().play()
            phases["playing"].append(time.perf_counter() - started)
            return plies

        def learn(self) -> None:
            started = time.perf_counter()
            super().learn()
            phases["learning"].append(time.perf_counter() - started)

    phases: dict[str, list[float]] = {"playing": [], "learning": []}
    config = with_assignments(recipes.load(recipe).config(), [*SETTINGS, f"iterations={iterations}"])
    kind, _, count = case.partition("-")
    clocks = Clocks()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if kind == "devices":
            stack.enter_context(devices.using(count))
        training = Training.begin(Path(folder) / "run", config)
        if kind == "actors":
            from tabia.cluster.connection import connect
            from tabia.cluster.loop import self_play

            cluster = stack.enter_context(connect("local"))
            execution = stack.enter_context(self_play(training, cluster, actors=int(count)))
            train(training, [clocks], make_iteration=execution.make_iteration, parts=execution.parts)
        else:
            train(training, [clocks], make_iteration=Timed)
    span = len(clocks.wall) - 1 - WARM_UP
    cpu = (clocks.cpu[-1] - clocks.cpu[WARM_UP]) / span
    steps = [after - before for before, after in zip(clocks.wall[WARM_UP:], clocks.wall[WARM_UP + 1 :], strict=False)]
    last = clocks.extra[-1]
    shown = {name: last[name] for name in ("chunk_bytes", "chunk_seconds", "wait_seconds", "staleness") if name in last}
    shown |= {name: statistics.median(seconds[WARM_UP:]) for name, seconds in phases.items() if seconds}
    return {
        "case": case,
        "wall": statistics.median(steps),
        "fastest": min(sum(steps[first : first + _BLOCK]) / _BLOCK for first in range(len(steps) - _BLOCK + 1)),
        "cpu": cpu,
        "iterations": span,
        "load": os.getloadavg()[0],
        **shown,
    }


def actor_seconds() -> float:
    """CPU time of the actors that this process started, from /proc."""
    known: dict[int, tuple[int, float, bool]] = {}  # parent, CPU seconds, whether it is an actor
    tick = os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                seconds = (int(fields[11]) + int(fields[12])) / tick
                known[int(entry.name)] = int(fields[1]), seconds, b"SelfPlayActor" in (entry / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
    return sum(seconds for process, (_, seconds, actor) in known.items() if actor and _is_ours(process, known))


def _is_ours(process: int, known: dict[int, tuple[int, float, bool]]) -> bool:
    while process in known:
        if process == os.getpid():
            return True
        process = known[process][0]
    return False


if __name__ == "__main__":
    main()
