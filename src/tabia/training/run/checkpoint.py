"""Checkpoints: written under a temporary name, synced, renamed, read back, and only then announced.

A checkpoint is a folder named after its iteration:

    weights.safetensors     the network that plays, as `tabia.networks.weights` writes it
    state.safetensors       everything else that a resumed run needs; only the newest checkpoints keep it
    manifest.json           what they are, and the SHA-256 of both
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import save as to_bytes

from tabia import __version__
from tabia.core import files
from tabia.core.parsing import parse_json
from tabia.core.text import plain, quote
from tabia.games import identity
from tabia.networks import NetworkConfig, weights
from tabia.networks.errors import WeightsError
from tabia.training import state as states
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.run.directory import BEST, RunDirectory
from tabia.training.state import Counters, State

WEIGHTS, STATE, MANIFEST = "weights.safetensors", "state.safetensors", "manifest.json"
_FORMAT = "tabia checkpoint 5"
_OLDER = tuple(f"tabia checkpoint {number}" for number in range(1, 5))
_LARGEST_MANIFEST, _LARGEST_HEADER = files.MEGABYTE, 64 * files.MEGABYTE
_ITERATION = re.compile("0|[1-9][0-9]{0,11}")
Watch = Callable[[str], None]


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint and what it holds."""

    path: Path
    counters: Counters
    state: State
    network: NetworkConfig  # of the weights


class _OlderFormat(TrainingError):
    """A checkpoint of an earlier version of Tabia."""


def save(run: RunDirectory, plan: Plan, state: State, counters: Counters, *, watch: Watch | None = None) -> Path:
    """Save a run; whatever happens on the way, earlier checkpoints do not change.

    `watch` receives the name of each step when it is done.
    """
    done = watch or (lambda step: None)
    place = run.checkpoints / str(counters.iteration)
    aside = run.checkpoints / files.random_name(str(counters.iteration), "aside")
    try:
        if files.exists(run.metrics):
            files.sync_file(run.metrics)  # no checkpoint without the metrics that lead to it
        files.make_directory(run.checkpoints, within=run.path)
        aside.mkdir()
        done("made")
        _write(aside, plan, state, counters, done)
        if files.exists(place):  # it was skipped when the run was resumed; no iteration is saved twice
            _set_aside(place)
        aside.rename(place)
        done("renamed")
        files.sync_directory(run.checkpoints)
        done("synced")
        verify(place, within=run.path)
        done("verified")
        if plan.config.gate.kind != "none":
            files.write_atomic(run.path / BEST, f"{_nearest(run, counters.champion)}\n".encode(), within=run.path)
        _prune(run, counters.iteration, plan.config.checkpoints.resumable)
        done("pruned")
    except (OSError, WeightsError) as error:
        shutil.rmtree(aside, ignore_errors=True)
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise TrainingError(
            f"The checkpoint of iteration {counters.iteration} could not be saved in {run.checkpoints}: {why}. "
            f"Earlier ones have not changed. Free some space and continue with `tabia resume {run.path}`."
        ) from None
    return place


def newest(run: RunDirectory, plan: Plan) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that can be resumed, and what is wrong with newer ones.

    None if there is no checkpoint yet. If there are some but none is sound, raises TrainingError rather than starting
    over.
    """
    troubles: list[str] = []
    held = sorted(iterations(run), reverse=True)
    for iteration in held:
        place = run.checkpoints / str(iteration)
        try:
            manifest = verify(place, within=run.path)
            if STATE in manifest["files"]:  # otherwise only its weights are kept
                sized = _with_network_of(place, plan, within=run.path)
                state = load(sized, place, manifest, within=run.path)
                return Checkpoint(place, _counters(place, manifest), state, sized.config.network), troubles
        except _OlderFormat:
            raise run.too_old() from None
        except TrainingError as error:
            troubles.append(str(error))
    if held and not troubles:
        raise TrainingError(
            f"{run.path} cannot be resumed: its checkpoints have only weights, as checkpoints.resumable=0 asks for. "
            f"They can be played: az:{run.path}"
        )
    if held:
        raise TrainingError(
            f"{run.path} cannot be resumed: none of its checkpoints is sound and complete. {' '.join(troubles)} "
            f"Restore a sound one, or start over with `tabia train {plan.config.game}` in another directory."
        )
    return None, troubles


def newest_counters(run: RunDirectory) -> Counters | None:
    """The counters of the newest checkpoint whose manifest can be read; its files are not verified."""
    for iteration in sorted(iterations(run), reverse=True):
        place = run.checkpoints / str(iteration)
        with suppress(TrainingError):
            return _counters(place, _manifest(place, run.path))
    return None


def iterations(run: RunDirectory) -> list[int]:
    """The iterations that have a checkpoint, complete or not; links do not count."""
    if not run.checkpoints.is_dir():
        return []
    try:
        files.contained(run.checkpoints, run.path)
    except OSError as error:
        raise TrainingError(f"{run.checkpoints} cannot be used: {error.strerror}.") from None
    found = [path for path in run.checkpoints.iterdir() if _ITERATION.fullmatch(path.name)]
    return [int(path.name) for path in found if path.is_dir() and not path.is_symlink()]


def load(plan: Plan, place: Path, manifest: dict[str, Any], *, within: Path | None = None) -> State:
    """The state in a checkpoint, for this plan; a file larger than such a state is not read."""
    game = plan.game
    held = (manifest.get("game"), manifest.get("game_version"))
    definition = str(manifest.get("game_definition", ""))
    if not identity.is_same(game, str(held[0]), definition) or held[1] != game.version:
        raise TrainingError(
            f"{place} is for {plain(held[0])}, version {plain(held[1])}; this run is for {game.id}, version "
            f"{game.version}."
        )
    try:
        limit = states.size(plan) + _LARGEST_HEADER
        arrays = _arrays(files.read_bytes(place / STATE, limit, within=within))
    except OSError as error:
        raise TrainingError(f"{place / STATE} cannot be read: {error.strerror or error}.") from None
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{place / STATE} cannot be read: {quote(str(error))}.") from None
    try:
        state = states.from_arrays(plan, arrays)
    except TrainingError as error:
        raise TrainingError(f"{place}: {error}") from None
    identity.warn_of_change(game, definition, str(place))
    return state


def _with_network_of(place: Path, plan: Plan, *, within: Path) -> Plan:
    """The plan with the network of a checkpoint, if its schedule has that network; otherwise as it is."""
    try:
        network = weights.read_manifest(place / WEIGHTS, within=within).network.config
    except WeightsError as error:
        raise TrainingError(str(error)) from None
    scheduled = any(stage.config.network == network for stage in plan.stages)
    return Plan(plan.config.with_network(network)) if scheduled else plan


def _counters(place: Path, manifest: dict[str, Any]) -> Counters:
    entries, known = manifest.get("counters"), {field.name: field for field in fields(Counters)}
    if not isinstance(entries, dict) or not {"iteration"} <= set(entries) <= set(known):
        raise TrainingError(
            f"{place / MANIFEST} is damaged: its counters cannot be read (expected {', '.join(known)})."
        )
    for name, value in entries.items():
        if type(value) not in (int, type(known[name].default)) or not 0 <= value < 2**53:
            raise TrainingError(f"{place / MANIFEST} is damaged: {name} of its counters cannot be {quote(value)}.")
    counters = Counters(**entries)
    if counters.iteration != int(place.name):
        raise TrainingError(f"{place} is a checkpoint of iteration {counters.iteration}, not {place.name}.")
    return counters


def verify(place: Path, *, within: Path | None = None) -> dict[str, Any]:
    """The manifest of a checkpoint, after comparing its files with their hashes; TrainingError if they differ.

    Links must not lead out of `within`, the run directory; by default, the checkpoint's own.
    """
    within = within or place
    manifest = _manifest(place, within)
    for name, digest in manifest["files"].items():
        try:
            with files.open_regular(place / name, within=within) as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise TrainingError(f"{place / name} cannot be read: {error.strerror or error}.") from None
        if found != digest:
            raise TrainingError(f"{place / name} is damaged: its hash differs from the one saved.")
    return manifest


def _manifest(place: Path, within: Path) -> dict[str, Any]:
    """The manifest, which names only files that a checkpoint has."""
    try:
        manifest = parse_json(files.read_bytes(place / MANIFEST, _LARGEST_MANIFEST, within=within))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise TrainingError(f"{place} is not a checkpoint, or is damaged: {why or error}.") from None
    if isinstance(manifest, dict) and manifest.get("format") in _OLDER:
        raise _OlderFormat(f"{place} was written by an earlier version of Tabia.")
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise TrainingError(f"{place} is not a checkpoint of this version: its manifest does not say {_FORMAT!r}.")
    named = manifest.get("files")
    if not isinstance(named, dict) or WEIGHTS not in named:
        raise TrainingError(f"{place / MANIFEST} is damaged: it does not name {WEIGHTS}.")
    for name in named:
        if name not in (WEIGHTS, STATE):
            raise TrainingError(f"{place / MANIFEST} names {quote(name)}, which is not a file of a checkpoint.")
    return manifest


def _write(folder: Path, plan: Plan, state: State, counters: Counters, done: Watch) -> None:
    game, config = plan.game, plan.config
    notes = {
        **identity.fields(game),
        "iteration": counters.iteration,
        "recipe": config.recipe,
        "seed": config.seed,
        "minutes": round(counters.seconds / 60, 2),
        "games": counters.games,
    }
    weights.save(folder / WEIGHTS, plan.network, states.playing(state), notes)
    done("weights")
    digests = {WEIGHTS: hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()}
    if config.checkpoints.resumable:
        content = to_bytes(states.to_arrays(state))
        files.write_new(folder / STATE, content)
        done("state")
        digests[STATE] = hashlib.sha256(content).hexdigest()
    manifest = {
        "format": _FORMAT,
        "tabia": __version__,
        **identity.fields(game),
        "counters": asdict(counters),
        "files": digests,
    }
    files.write_new(folder / MANIFEST, json.dumps(manifest, indent=2).encode())
    files.sync_directory(folder)
    done("manifest")


def _prune(run: RunDirectory, newest: int, resumable: int) -> None:
    """Drop the state of older checkpoints, and the leftovers of unfinished saves."""
    for iteration in iterations(run):
        if iteration > newest:  # skipped when the run was resumed; it is no longer part of this run
            _set_aside(run.checkpoints / str(iteration))
    whole = [iteration for iteration in sorted(iterations(run)) if (run.checkpoints / str(iteration) / STATE).exists()]
    for iteration in whole[: max(len(whole) - resumable, 0)]:
        _forget_state(run, run.checkpoints / str(iteration))
    for left in run.checkpoints.glob(".*.aside"):
        shutil.rmtree(left, ignore_errors=True)


def _set_aside(place: Path) -> None:
    """Keep a checkpoint that could not be used, under a name that is never read."""
    kept = place.with_name(f"{place.name}.skipped")
    shutil.rmtree(kept, ignore_errors=True)
    place.rename(kept)


def _forget_state(run: RunDirectory, place: Path) -> None:
    """Keep only the weights of a checkpoint; the manifest first, so that it never names a missing file."""
    try:
        manifest = _manifest(place, run.path)
    except TrainingError:
        return  # damaged: left alone, so that it can be examined
    manifest["files"].pop(STATE, None)
    files.write_atomic(place / MANIFEST, json.dumps(manifest, indent=2).encode(), within=run.path)
    (place / STATE).unlink(missing_ok=True)


def _nearest(run: RunDirectory, champion: int) -> int:
    """The first checkpoint with the champion of this iteration: the weights saved are those that play."""
    return min((iteration for iteration in iterations(run) if iteration >= champion), default=champion)


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    return safetensors.numpy.load(content)
