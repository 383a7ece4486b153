"""Checkpoints: written aside, synced, renamed, synced, read back; announced only once all that has held.

A checkpoint is a folder named by its cycle:

    weights.safetensors     the network that plays, as `tabia.networks.weights` writes it
    state.safetensors       everything else a run needs to go on; only the newest few keep it
    manifest.json           what they are, and the SHA-256 of both
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import save as to_bytes

from tabia.networks import weights
from tabia.networks.errors import WeightsError
from tabia.training import state as states
from tabia.training.directory import BEST, RunDirectory, sync_directory, write_synced, write_whole
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.state import Ledger, State

WEIGHTS, STATE, MANIFEST = "weights.safetensors", "state.safetensors", "manifest.json"
_FORMAT = "tabia checkpoint 1"
Watch = Callable[[str], None]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on disk that was found whole."""

    path: Path
    ledger: Ledger
    manifest: dict[str, Any]


def save(run: RunDirectory, plan: Plan, state: State, ledger: Ledger, *, watch: Watch | None = None) -> Path:
    """Save a run as it stands; whatever happens on the way, earlier checkpoints stay as they are.

    `watch` is told each step done.
    """
    done = watch or (lambda step: None)
    place, aside = run.checkpoints / str(ledger.cycle), run.checkpoints / f".{ledger.cycle}.aside"
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        done("made")
        _write(aside, plan, state, ledger, done)
        if place.exists():  # left by a run that was killed before it could say so, or found damaged
            shutil.rmtree(place)
        aside.rename(place)
        done("renamed")
        sync_directory(run.checkpoints)
        done("synced")
    except (OSError, WeightsError) as error:
        shutil.rmtree(aside, ignore_errors=True)
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise TrainingError(
            f"The checkpoint of cycle {ledger.cycle} could not be saved in {run.checkpoints}: {why}. "
            f"Earlier ones are as they were; make room and go on with `tabia resume {run.path}`."
        ) from None
    verify(place)
    done("verified")
    if plan.config.gate.kind != "none":
        write_whole(run.path / BEST, f"{_nearest(run, ledger.champion)}\n".encode())
    _prune(run, plan.config.checkpoints.resumable)
    done("pruned")
    return place


def newest(run: RunDirectory) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint a run can go on from, and what is wrong with newer ones."""
    troubles: list[str] = []
    for cycle in sorted(cycles(run), reverse=True):
        place = run.checkpoints / str(cycle)
        try:
            manifest = verify(place)
            if STATE not in manifest["files"]:
                continue  # kept for its weights alone
            return Checkpoint(place, Ledger(**manifest["ledger"]), manifest), troubles
        except (TrainingError, TypeError, KeyError) as error:
            troubles.append(str(error))
    return None, troubles


def cycles(run: RunDirectory) -> list[int]:
    """The cycles of which there are checkpoints, whole or not."""
    if not run.checkpoints.is_dir():
        return []
    return [int(path.name) for path in run.checkpoints.iterdir() if path.name.isdecimal()]


def load(plan: Plan, checkpoint: Checkpoint) -> State:
    """The state a checkpoint holds, for this plan."""
    game = plan.game
    held = (checkpoint.manifest.get("game"), checkpoint.manifest.get("game_version"))
    if held != (game.id, game.version):
        raise TrainingError(
            f"{checkpoint.path} is of {held[0]}, version {held[1]}; this run is of {game.id}, version {game.version}."
        )
    try:
        arrays = _arrays((checkpoint.path / STATE).read_bytes())
    except (OSError, safetensors.SafetensorError, ValueError) as error:
        raise TrainingError(f"{checkpoint.path / STATE} cannot be read: {error}.") from None
    return states.from_arrays(plan, arrays)


def verify(place: Path) -> dict[str, Any]:
    """The manifest of a checkpoint whose files are what it says; TrainingError otherwise."""
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(f"{place} is no checkpoint, or a damaged one: {error}.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise TrainingError(f"{place} is no checkpoint of this Tabia: its manifest does not say {_FORMAT!r}.")
    for name, digest in manifest.get("files", {}).items():
        try:
            with (place / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise TrainingError(f"{place / name} cannot be read: {error.strerror or error}.") from None
        if found != digest:
            raise TrainingError(f"{place / name} is damaged: it is not what was saved.")
    return manifest


def _write(folder: Path, plan: Plan, state: State, ledger: Ledger, done: Watch) -> None:
    game, config = plan.game, plan.config
    notes = {"game": game.id, "game_version": game.version, "cycle": ledger.cycle, "recipe": config.recipe,
             "seed": config.seed, "minutes": round(ledger.seconds / 60, 2), "games": ledger.games}  # fmt: skip
    weights.save(folder / WEIGHTS, plan.network, states.playing(state), notes)
    done("weights")
    write_synced(folder / STATE, to_bytes(states.to_arrays(state)))
    done("state")
    files = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (WEIGHTS, STATE)}
    manifest = {"format": _FORMAT, "game": game.id, "game_version": game.version, "ledger": asdict(ledger),
                "files": files}  # fmt: skip
    write_synced(folder / MANIFEST, json.dumps(manifest, indent=2).encode())
    sync_directory(folder)
    done("manifest")


def _prune(run: RunDirectory, resumable: int) -> None:
    """Drop the state of older checkpoints, and what unfinished saves left lying."""
    whole = [cycle for cycle in sorted(cycles(run)) if (run.checkpoints / str(cycle) / STATE).exists()]
    for cycle in whole[:-resumable]:
        _forget_state(run.checkpoints / str(cycle))
    for left in run.checkpoints.glob(".*.aside"):
        shutil.rmtree(left, ignore_errors=True)


def _forget_state(place: Path) -> None:
    """Keep a checkpoint's weights alone: the manifest first, so that it never names a file that is gone."""
    manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"].pop(STATE, None)
    write_whole(place / MANIFEST, json.dumps(manifest, indent=2).encode())
    (place / STATE).unlink(missing_ok=True)


def _nearest(run: RunDirectory, champion: int) -> int:
    """The first checkpoint that holds the champion of a cycle: the weights saved are always those that play."""
    return min((cycle for cycle in cycles(run) if cycle >= champion), default=champion)


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    return safetensors.numpy.load(content)
