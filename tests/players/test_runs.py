"""Runs, files of weights and shipped agents: the file of a spec, and errors if there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tabia import games, players
from tabia.core.errors import TabiaError
from tabia.games.session import Session
from tabia.networks import Network, presets, weights
from tabia.players import runs

from .playing import starts

CONNECT3 = games.make("connect3")


def write(folder: Path, seed: int = 0, config: Any = None, **metadata: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    game = CONNECT3
    shape = (game.observation_shape, game.num_actions, game.num_players)
    network = Network(config or presets.mlp(8), *shape)
    noted = {"game": game.id, "game_version": game.version, **metadata}
    path = folder / "weights.safetensors"
    weights.save(path, network, network.init(jax.random.key(seed)), noted)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for step in (5, 20, 100):
        write(tmp_path / "run" / "checkpoints" / f"{step:06d}", seed=step)
    (tmp_path / "run" / "config.toml").write_text("")
    return tmp_path / "run"


def policy(text: str) -> np.ndarray:
    state = Session.from_moves(CONNECT3, "1 2 1").state
    choice = players.make(text, CONNECT3).choose(jax.tree.map(lambda leaf: leaf[None], state), jax.random.key(0))
    return np.asarray(choice.policy)


def test_versions_name_checkpoints(run: Path) -> None:
    steps = {step: policy(f"network:{run}@{step}") for step in (5, 20, 100)}
    assert not np.allclose(steps[5], steps[20])
    assert np.array_equal(policy(f"network:{run}@latest"), steps[100])
    assert np.array_equal(policy(f"network:{run}"), steps[100])  # best falls back to latest
    (run / "best").write_text("20\n")
    assert np.array_equal(policy(f"network:{run}"), steps[20])
    assert np.array_equal(policy(f"network:{run}@best"), steps[20])
    folder = run / "checkpoints" / "000005"
    assert np.array_equal(policy(f"network:{folder}"), steps[5])
    assert np.array_equal(policy(f"network:{folder / 'weights.safetensors'}"), steps[5])


def test_a_run_with_search(run: Path) -> None:
    choice = players.make(f"az:{run}@20,simulations=4", CONNECT3).choose(starts(CONNECT3, 3), jax.random.key(0))
    assert choice.visits is not None and np.all(np.asarray(choice.visits).sum(axis=1) == 4)


def test_missing_files_are_reported(run: Path, tmp_path: Path) -> None:
    with pytest.raises(players.PlayerError, match=r"no version '7'. It has best, latest and the steps 5, 20, 100"):
        players.make(f"network:{run}@7", CONNECT3)
    (tmp_path / "empty" / "checkpoints").mkdir(parents=True)
    with pytest.raises(players.PlayerError, match="no checkpoint yet"):
        players.make(f"network:{tmp_path / 'empty'}", CONNECT3)
    with pytest.raises(players.PlayerError, match="is not a run"):
        players.make(f"network:{tmp_path}", CONNECT3)
    with pytest.raises(players.PlayerError, match="one network"):
        players.make(f"network:{run / 'checkpoints' / '000005'}@5", CONNECT3)
    (tmp_path / "junk.safetensors").write_bytes(b"not weights")
    with pytest.raises(TabiaError, match="is not a valid weights file"):
        players.make(f"network:{tmp_path / 'junk.safetensors'}", CONNECT3)


def test_networks_of_other_games_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(players.PlayerError, match="contains a network for connect3, not for connect4"):
        players.make(f"az:{run}", games.make("connect4"))
    write(tmp_path / "old", game_version=0)
    with pytest.raises(players.PlayerError, match="version 0 of connect3"):
        players.make(f"az:{tmp_path / 'old'}", CONNECT3)
    write(tmp_path / "code", game=f"{tmp_path}/evil.py:Evil")
    (tmp_path / "evil.py").write_text("raise SystemExit('code has run')")
    with pytest.raises(players.PlayerError, match="contains a network for"):
        players.make(f"az:{tmp_path / 'code'}", CONNECT3)


def test_an_equal_id_is_the_same_game(tmp_path: Path) -> None:
    write(tmp_path / "same", game="connect:rows=3,columns=4,line=3")
    assert players.make(f"network:{tmp_path / 'same'}", CONNECT3).game == CONNECT3


def test_weights_for_any_size_play_other_boards_of_their_game(tmp_path: Path) -> None:
    write(tmp_path / "any", config=presets.any_size(8, 1, policy="columns"))
    game = games.make("connect:rows=4,columns=5,line=3")
    choice = players.make(f"network:{tmp_path / 'any'}", game).choose(starts(game, 2), jax.random.key(0))
    assert choice.policy is not None and choice.policy.shape == (2, 5)


def test_shipped_agents_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SHIPPED", tmp_path)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tiny3")
    write(tmp_path / "runs3" / "checkpoints" / "10")
    write(tmp_path / "library" / "tiny3")
    assert runs.shipped() == ["library:tiny3", "runs3", "tiny3"]
    monkeypatch.chdir("/")
    assert players.make("network:tiny3", CONNECT3).spec == "network:tiny3"
    assert players.make("network:library:tiny3", CONNECT3).spec == "network:library:tiny3"
    assert players.make("network:runs3@10", CONNECT3).spec == "network:runs3@10"
    with pytest.raises(players.PlayerError, match="Did you mean tiny3"):
        players.make("network:tiny4", CONNECT3)
