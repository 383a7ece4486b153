"""The tables and the figure of docs/explanation/scaling.md, from the files in benchmarks/.

    python tools/draw_scaling.py --out docs/images/scaling.svg

Prints predictions beside measurements, then what the model says about clusters that were never measured.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from tabia.benchmarks import training
from tabia.cluster.model import (
    Actors,
    Costs,
    Line,
    Link,
    Prediction,
    Workload,
    fit_line,
    predict_actors,
    predict_devices,
)
from tabia.networks.presets import tower
from tabia.networks.summary import counts
from tabia.search.memory import nbytes
from tabia.training import recipes
from tabia.training.plan import Plan

FOLDER = Path(__file__).parent.parent / "benchmarks"
NVLINK, INFINIBAND, ETHERNET = Link(400e9, 2e-5), Link(50e9, 5e-5), Link(1.25e9, 1e-3)  # assumed, not measured
PER_MACHINE, PER_NODE = 8, 32  # GPUs that NVLink connects; cores of a node, which fetch the weights once
COUNTS = (1, 2, 4, 8, 16, 32, 64)
CORES = (1, 10, 100, 1000)
CASES = {"loop": "1 core", "devices-4": "4 devices", "actors-1": "1 actor", "actors-2": "2 actors"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path)
    out = options.parse_args().out
    compared(_read("scaling-cpu"), _read("scaling-measured"))
    found = extrapolated()
    for name, rows in found.items():
        for count, one in rows:
            shown = (one.iteration, one.playing, one.learning, one.sending)
            times = " | ".join(f"{1e3 * seconds:,.0f} ms" for seconds in shown)
            print(f"| {name} | {count:,} | {times} | {one.bound} | {one.positions:,.0f} |")
    if out:
        draw(found, out)


def compared(fit: dict[str, Any], measured: dict[str, Any]) -> None:
    """Print seconds per iteration as predicted before the runs and as measured, and the same for parts of it."""
    predicted = {row["what"]: row for row in fit["rows"] if "what" in row}
    for case, what in CASES.items():
        rows = [row for row in measured["rows"] if row["case"] == case]
        for name, part in (("wall", "iteration"), ("playing", "playing"), ("learning", "learning")):
            found = [row[name] for row in rows if name in row]
            if found:
                expected, median = predicted[what][part], statistics.median(found)
                print(
                    f"| {what}, {part} | {expected:.3f} s | {median:.3f} s | {expected / median - 1:+.0%} "
                    f"| {min(found):.3f} to {max(found):.3f} s |"
                )


def extrapolated() -> dict[str, list[tuple[int, Prediction]]]:
    """Predictions for clusters of H200s, and of CPU cores with one H200 as the learner."""
    plan = Plan(training.config(small=False))
    work = _workload(plan)
    large, small = h200(plan, 128), h200(plan, 64)
    core = replace(small, simulation=Line(0.0, 2 / _speed("training-cpu")), cores=0.0)
    return {
        "GPUs, one program, the same run": [
            (count, predict_devices(large, work, count, _between(count))) for count in COUNTS
        ],
        "GPUs, one program, N times the lanes and the batch": [
            (count, predict_devices(large, _wider(work, count), count, _between(count))) for count in COUNTS
        ],
        "GPU actors, one GPU as learner, N times the lanes": [
            (count, predict_actors(large, replace(work, lanes=work.lanes * count), _actors(count, INFINIBAND)))
            for count in COUNTS
        ],
        "CPU cores as actors, 64 x 5, one GPU as learner": [
            (count, predict_actors(core, work, _actors(count, ETHERNET, -(-count // PER_NODE)), small))
            for count in CORES
        ],
    }


def h200(plan: Plan, filters: int) -> Costs:
    """Costs of an H200 with a tower of five blocks, from its benchmarks.

    The fixed cost of a simulation is that of 64 filters at three batch sizes; both towers launch the same kernels.
    The fixed cost of a step and the cost of storing were not measured and count as 0, which is optimistic.
    """
    rows = [row for row in _read("search-h200")["rows"] if row["rule"] == "gumbel" and row["simulations"] == 32]
    rows = [row for row in rows if row["network"] == "64x5"]
    line = fit_line([row["batch"] for row in rows], [row["batch"] / row["ours"] for row in rows])
    network = replace(plan.network, config=tower(filters, 5, value="wdl"))
    lanes = plan.config.selfplay.games
    if filters == 128:
        line = Line(line.fixed, (lanes / _speed("training-h200") - line.fixed) / lanes)
    learner = next(row for row in _read("training-h200")["rows"] if row["what"] == "learner")
    weights = jax.eval_shape(network.init, jax.random.key(0))
    games, plies = _shapes(plan)
    packing = _read("scaling-cpu")["rows"][0]["costs"]  # zlib works through bytes, so its time is scaled by them
    raw = _shapes(Plan(recipes.load("connect3").config()))[1]
    return Costs(
        simulation=line,
        network=Line(0.0, 0.0),
        step=Line(0.0, 3 * counts(network).operations / (learner["ours"] * 1e12)),
        position_bytes=plies,  # not compressed
        lane_bytes=games,
        weight_bytes=float(nbytes(weights)),
        pack=packing["pack"] * plies / raw,
        unpack=packing["unpack"] * plies / raw,
    )


def _shapes(plan: Plan) -> tuple[float, float]:
    """Bytes per lane of the games in progress, and of a ply, without compression."""
    lanes = jax.eval_shape(plan.selfplay.begin, jax.random.key(0))
    weights = jax.eval_shape(plan.network.init, jax.random.key(0))
    plies = plan.selfplay.shapes(weights, lanes, jax.random.key(0))
    return nbytes(lanes) / plan.config.selfplay.games, nbytes(plies) / plies.ended.size


def draw(found: dict[str, list[tuple[int, Prediction]]], out: Path) -> None:
    """Positions per second by the number of devices or actors; everything beyond one is extrapolated."""
    from matplotlib.figure import Figure

    from tabia.core import plotting
    from tabia.core.plotting import COLORS, MARKERS

    with plotting.style():
        figure = Figure(figsize=(7, 4.4), layout="constrained")
        axes = figure.subplots()
        for (name, rows), color, marker in zip(found.items(), COLORS, MARKERS, strict=False):
            x, y = [count for count, _ in rows], [one.positions for _, one in rows]
            axes.plot(x, y, color=color, marker=marker, linestyle="--", label=name)
        axes.set(xscale="log", yscale="log", xlabel="GPUs, or CPU cores", ylabel="positions played per second")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_title("Extrapolation: no cluster of this size was measured")
        figure.legend(loc="outside upper left", fontsize=8)
        out.write_bytes(plotting.content(figure, out.suffix[1:]))


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def _speed(name: str) -> float:
    """Simulations per second of self-play."""
    return float(next(row["ours"] for row in _read(name)["rows"] if row["what"] == "self-play"))


def _workload(plan: Plan) -> Workload:
    from tabia.benchmarks.scaling import workload

    return workload(plan)


def _wider(work: Workload, times: int) -> Workload:
    return replace(work, lanes=work.lanes * times, batch_size=work.batch_size * times)


def _between(count: int) -> Link:
    return NVLINK if count <= PER_MACHINE else INFINIBAND


def _actors(count: int, link: Link, nodes: int | None = None) -> Actors:
    return Actors(count=count, link=link, nodes=nodes or count, cores=math.inf)


if __name__ == "__main__":
    main()
