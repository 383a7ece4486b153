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

from tabia.games import identity
from tabia.networks import weights
from tabia.networks.errors import WeightsError
from tabia.networks.weights import sync_directory
from tabia.training import state as states
from tabia.training.directory import BEST, RunDirectory, write_synced, write_whole
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.state import Ledger, State

WEIGHTS, STATE, MANIFEST = "weights.safetensors", "state.safetensors", "manifest.json"
_FORMAT = "tabia checkpoint 4"
Watch = Callable[[str], None]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found whole, and what it holds."""

    path: Path
    ledger: Ledger
    state: State


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
        if place.exists():  # it was passed over when the run was resumed: nobody saves a cycle twice
            _pass_over(place)
        aside.rename(place)
        done("renamed")
        sync_directory(run.checkpoints)
        done("synced")
        verify(place)
        done("verified")
        if plan.config.gate.kind != "none":
            write_whole(run.path / BEST, f"{_nearest(run, ledger.champion)}\n".encode())
        _prune(run, ledger.cycle, plan.config.checkpoints.resumable)
        done("pruned")
    except (OSError, WeightsError) as error:
        shutil.rmtree(aside, ignore_errors=True)
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise TrainingError(
            f"The checkpoint of cycle {ledger.cycle} could not be saved in {run.checkpoints}: {why}. "
            f"Earlier ones are as they were; make room and go on with `tabia resume {run.path}`."
        ) from None
    return place


def newest(run: RunDirectory, plan: Plan) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint the run can go on from, and what is wrong with newer ones.

    None where there is no checkpoint yet; where there are some, but no sound one, a TrainingError says so: nobody
    wants to start over without having been asked.
    """
    troubles: list[str] = []
    held = sorted(cycles(run), reverse=True)
    for cycle in held:
        place = run.checkpoints / str(cycle)
        try:
            manifest = verify(place)
            if STATE in manifest["files"]:  # otherwise it is kept for its weights alone
                return Checkpoint(place, _ledger(place, manifest), load(plan, place, manifest)), troubles
        except TrainingError as error:
            troubles.append(str(error))
    if held:
        raise TrainingError(
            f"{run.path} cannot be gone on with: none of its checkpoints is sound and whole. {' '.join(troubles)} "
            f"Put a sound one back, or begin anew with `tabia train {plan.config.game}` in another directory."
        )
    return None, troubles


def cycles(run: RunDirectory) -> list[int]:
    """The cycles of which there are checkpoints, whole or not."""
    if not run.checkpoints.is_dir():
        return []
    return [int(path.name) for path in run.checkpoints.iterdir() if path.name.isdecimal()]


def load(plan: Plan, place: Path, manifest: dict[str, Any]) -> State:
    """The state a checkpoint holds, for this plan."""
    game = plan.game
    held = (manifest.get("game"), manifest.get("game_version"))
    definition = str(manifest.get("game_definition", ""))
    if not identity.is_same(game, str(held[0]), definition) or held[1] != game.version:
        raise TrainingError(
            f"{place} is of {held[0]}, version {held[1]}; this run is of {game.id}, version {game.version}."
        )
    try:
        arrays = _arrays((place / STATE).read_bytes())
    except (OSError, safetensors.SafetensorError, ValueError) as error:
        raise TrainingError(f"{place / STATE} cannot be read: {error}.") from None
    try:
        state = states.from_arrays(plan, arrays)
    except TrainingError as error:
        raise TrainingError(f"{place}: {error}") from None
    identity.warn_of_change(game, definition, str(place))
    return state


def _ledger(place: Path, manifest: dict[str, Any]) -> Ledger:
    try:
        ledger = Ledger(**manifest["ledger"])
    except (KeyError, TypeError) as error:
        raise TrainingError(f"{place / MANIFEST} is damaged: its ledger cannot be read ({error}).") from None
    if ledger.cycle != int(place.name):
        raise TrainingError(f"{place} is of cycle {ledger.cycle}, not of cycle {place.name}.")
    return ledger


def verify(place: Path) -> dict[str, Any]:
    """The manifest of a checkpoint whose files are what it says; TrainingError otherwise."""
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(f"{place} is no checkpoint, or a damaged one: {error}.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise TrainingError(f"{place} is no checkpoint of this Tabia: its manifest does not say {_FORMAT!r}.")
    files = manifest.get("files")
    if not isinstance(files, dict) or WEIGHTS not in files:
        raise TrainingError(f"{place / MANIFEST} is damaged: it does not name {WEIGHTS}.")
    for name, digest in files.items():
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
    notes = {**identity.fields(game), "cycle": ledger.cycle, "recipe": config.recipe,
             "seed": config.seed, "minutes": round(ledger.seconds / 60, 2), "games": ledger.games}  # fmt: skip
    weights.save(folder / WEIGHTS, plan.network, states.playing(state), notes)
    done("weights")
    content = to_bytes(states.to_arrays(state))
    write_synced(folder / STATE, content)
    done("state")
    files = {WEIGHTS: hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest(),
             STATE: hashlib.sha256(content).hexdigest()}  # fmt: skip
    manifest = {"format": _FORMAT, **identity.fields(game), "ledger": asdict(ledger),
                "files": files}  # fmt: skip
    write_synced(folder / MANIFEST, json.dumps(manifest, indent=2).encode())
    sync_directory(folder)
    done("manifest")


def _prune(run: RunDirectory, newest: int, resumable: int) -> None:
    """Drop the state of older checkpoints, and what unfinished saves left lying."""
    for cycle in cycles(run):
        if cycle > newest:  # passed over when the run was resumed; it must not be taken for what this run came to
            _pass_over(run.checkpoints / str(cycle))
    whole = [cycle for cycle in sorted(cycles(run)) if (run.checkpoints / str(cycle) / STATE).exists()]
    for cycle in whole[:-resumable]:
        _forget_state(run.checkpoints / str(cycle))
    for left in run.checkpoints.glob(".*.aside"):
        shutil.rmtree(left, ignore_errors=True)


def _pass_over(place: Path) -> None:
    """Keep a checkpoint that could not be used, under a name nobody looks for."""
    kept = place.with_name(f"{place.name}.passed-over")
    shutil.rmtree(kept, ignore_errors=True)
    place.rename(kept)


def _forget_state(place: Path) -> None:
    """Keep a checkpoint's weights alone: the manifest first, so that it never names a file that is gone."""
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        manifest["files"].pop(STATE, None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return  # damaged: left as it is, for whoever wants to look into it
    write_whole(place / MANIFEST, json.dumps(manifest, indent=2).encode())
    (place / STATE).unlink(missing_ok=True)


def _nearest(run: RunDirectory, champion: int) -> int:
    """The first checkpoint that holds the champion of a cycle: the weights saved are always those that play."""
    return min((cycle for cycle in cycles(run) if cycle >= champion), default=champion)


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    return safetensors.numpy.load(content)
