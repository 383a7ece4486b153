"""The network of an agent as an ONNX file, with everything about the game that a program needs to use it.

    export("az:connect4", Path("connect4.onnx"))

The metadata of the file are texts; lists and objects are JSON:

    format                     1
    game, game_version         the game's id and the version of its rules; game_definition for a game of your own
    title                      the game in one line
    agent                      what was exported, such as az:connect4
    observation_shape          [rows, columns, planes] of one position
    planes                     what each plane shows
    moves                      the name of each action
    moves_depend_on_position   whether a position can give an action another name, such as after a rotation of the board
    values                     whose value each output is: the mover's, the next seat's, and so on
    score_range                the scores at which values are -1 and 1
    network                    the configuration of the network
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax

import tabia
from tabia.core import files
from tabia.core.text import plain, quote
from tabia.core.trust import check_data
from tabia.games import identity, registry
from tabia.games.game import Game, relative_seat
from tabia.games.session import Session
from tabia.networks.planes import PLANES
from tabia.networks.weights import read_manifest
from tabia.players import runs
from tabia.players.runs import Agent
from tabia.players.spec import Options, PlayerError, Spec, parse

FORMAT = 1
_WITH_NETWORK = ("az", "network")
_SAMPLE = 40  # moves of a game in which names are compared


def find(text: str, game_id: str | None = None) -> tuple[Game, Agent]:
    """The game and the agent of a spec such as `az:connect4`; the weights name the game unless it is given."""
    spec = parse(text)
    if spec.name not in _WITH_NETWORK or spec.what is None:
        raise PlayerError(
            f"{quote(text)} has no network to export; write az:NAME with a shipped agent, a run directory or a file "
            "of weights."
        )
    for option in spec.options:
        if option != "seed":
            raise PlayerError(f"An ONNX file holds a network without search; leave out {plain(option)}.")
    game = registry.make(game_id or _game_of(spec))
    options = Options(spec)
    agent = runs.from_spec(game, spec, options)
    options.close()
    return game, agent


def _game_of(spec: Spec) -> str:
    """The game that a file of weights names; a Python file is run only if the user names it."""
    assert spec.what is not None
    if spec.what == runs.UNTRAINED:
        raise PlayerError(f"{spec.name}:{runs.UNTRAINED} fits any game; choose one with --game.")
    path = runs.weights_file(spec.what, spec.version)
    name = read_manifest(path).metadata.get("game")
    if not isinstance(name, str):
        raise PlayerError(f"{path} does not name its game; add it with --game.")
    check_data(name, source=str(path), fix=f"add --game {plain(name)}.")
    return name


def export(game: Game, agent: Agent, path: Path, *, name: str) -> None:
    """Write the network of an agent to a file, atomically; `name` says what it is."""
    from tabia.networks.onnx_graph import to_onnx  # the library is optional

    model = to_onnx(agent.network, agent.parameters, metadata(game, agent, name), version=tabia.__version__)
    try:
        files.write_atomic(path, model.SerializeToString(deterministic=True))
    except OSError as error:
        raise PlayerError(f"{path} cannot be written: {error.strerror or error}.") from None


def metadata(game: Game, agent: Agent, name: str) -> dict[str, str]:
    """What the file says about the game and the network."""
    network = agent.network
    found: dict[str, Any] = {
        "format": FORMAT,
        **identity.fields(game),
        "title": game.title,
        "agent": name,
        "observation_shape": list(network.observation_shape),
        "planes": list(PLANES[network.config.planes].names(game)),
        "moves": [game.move_name(action) for action in range(game.num_actions)],
        "moves_depend_on_position": names_change(game),
        "values": [relative_seat(seat) for seat in range(game.num_players)],
        "score_range": list(game.score_range),
        "network": network.config.to_dict(),
    }
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in found.items()}


def names_change(game: Game) -> bool:
    """Whether a legal move of a random game has another name than its action without a position."""
    session = Session.start(game)
    for ply in range(_SAMPLE):
        if session.over:
            return False
        actions = [action for action, legal in enumerate(session.legal) if legal]
        if any(game.move_name(action, session.state) != game.move_name(action) for action in actions):
            return True
        choice = jax.random.randint(jax.random.key(ply), (), 0, len(actions))
        session = session.play(actions[int(choice)])
    return False
