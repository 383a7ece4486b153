"""Fuzz targets: for each kind of external text or file, the function that reads it and inputs for it."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import jax
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tabia.core.errors import TabiaError
from tabia.evaluation import ratings, records
from tabia.games import make
from tabia.games.session import Session
from tabia.networks import Network, presets, weights
from tabia.players import make as make_player
from tabia.players import registry, runs
from tabia.training.config import toml as settings
from tabia.training.config.schema import Config
from tabia.training.report import report, strength
from tabia.training.run import checkpoint, metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.state import Counters

from .inputs import JSON, ODD, damaged, damaged_text, joined, numbers, pieces

GAME = make("tictactoe")
Run = Callable[[Any], None]


@dataclass(frozen=True)
class Target:
    """A function under test, made by `prepare` in its own directory; it may raise only TabiaError."""

    name: str
    inputs: SearchStrategy[Any]
    prepare: Callable[[Path, contextlib.ExitStack], Run]


# Players.


def _specs() -> SearchStrategy[str]:
    option = joined(
        pieces(
            "simulations",
            "select",
            "c",
            "seconds",
            "leaves",
            "rollouts",
            "depth",
            "epsilon",
            "seed",
            "temperature",
            "random_moves",
            "considered_actions",
            "noise",
            "final",
            "symmetries",
            "winning_moves_first",
        ),
        st.just("="),
        st.one_of(numbers(), pieces("uct", "puct", "gumbel", "true", "false")),
    )
    what = pieces("untrained", "tictactoe", "connect4", "runs/x@best", "x@3", "x@latest", "pgx:hex")
    grammar = joined(
        pieces(*registry.names()), st.just(":"), st.lists(st.one_of(option, option, what), max_size=4).map(",".join)
    )
    return st.one_of(grammar, grammar, st.text())


def _players(place: Path, stack: contextlib.ExitStack) -> Run:
    agent = runs.untrained(GAME)  # reading weights is another target, and one compiled network is enough
    stack.enter_context(mock.patch.object(runs, "load", lambda game, path, **more: agent))
    stack.enter_context(mock.patch.object(runs, "untrained", lambda game, seed=0: agent))
    return lambda text: make_player(text, GAME) and None


# Games.


def _ids() -> SearchStrategy[str]:
    names = pieces(
        "tictactoe",
        "connect",
        "connect4",
        "othello",
        "checkers",
        "chinese-checkers",
        "pgx:hex",
        "spiel:hex",
        "spiel:nim",
        "pgx:x",
        "spiel:x",
        "x.py:X",
    )
    keys = pieces(
        "rows", "columns", "line", "players", "size", "fields", "moves_each", "history", "limit", "no_progress"
    )
    parameter = joined(keys, st.just("="), numbers())
    grammar = joined(names, st.just(":"), st.lists(parameter, max_size=4).map(",".join))
    return st.one_of(grammar, grammar, names, st.text())


def _games(place: Path, stack: contextlib.ExitStack) -> Run:
    def run(text: str) -> None:
        game = make(text)
        assert game.num_actions > 0 and game.max_moves > 0 and len(game.observation_shape) == 3 and game.title
        assert text.startswith("spiel:") or make(game.id).id == game.id

    return run


# Records of games.

_RECORD = records.text(
    records.RecordFile(
        {"match": '{"games": 2, "seed": 0}'},
        [
            records.Record(
                game="tictactoe",
                version=1,
                players=("random", "mcts"),
                moves=("b2", "a1", "c3"),
                scores=(0.0, 0.0),
                opening=1,
                seed=7,
                round=1,
                end="unfinished",
            ),
            records.Record(
                game="tictactoe",
                version=1,
                players=("mcts", "random"),
                moves=("b2", "a1", "a2", "a3", "c2"),
                scores=(1.0, -1.0),
                opening=1,
                seed=7,
                round=1,
            ),
        ],
    )
)


def _records() -> SearchStrategy[str]:
    keys = pieces("game", "version", "seat 1", "seat 2", "seat 3", "round", "opening", "seed", "moves", "scores", "end")
    lines = joined(keys, pieces(": "), st.one_of(numbers(), pieces("tictactoe", "b2 a1", "1 -1", "over", "unfinished")))
    built = st.lists(lines, max_size=14).map(lambda found: "\n".join([records.FORMAT, "", *found]))
    return st.one_of(damaged_text([_RECORD]), damaged_text([_RECORD]), built, st.text())


def _read_records(place: Path, stack: contextlib.ExitStack) -> Run:
    def run(text: str) -> None:
        file = records.parse(text)
        assert records.parse(records.text(file)) == file
        for record in file.records:
            if record.game == GAME.id:
                records.replay(GAME, record)
        ratings.rate(ratings.rated_games(file.records))

    return run


# Configurations.

_CONFIG = settings.to_toml(Config(game="tictactoe").changed({"selfplay.games": 16}))


def _configurations() -> SearchStrategy[str]:
    value = st.one_of(numbers(), pieces('"tictactoe"', "true", "[]", "{}", '["random"]', "[[0.0, 1], [0.5, 2]]"))
    line = joined(pieces(*settings.names(), "network", "schedule"), st.just(" = "), value)
    built = st.lists(line, max_size=6).map(lambda found: "\n".join(['game = "tictactoe"', *found]))
    return st.one_of(damaged_text([_CONFIG], 3), built, damaged_text(_recipes(), 3), st.text())


def _recipes() -> list[str]:
    scheduled = '[schedule]\n"learner.learning_rate" = [[0.0, 0.1], [0.5, 0.01]]\n'
    return [
        f'game = "connect4"\n[network]\npreset = "tower"\nblocks = 3\n{scheduled}',
        'game = "tictactoe"\nnetwork = {preset = "mlp", units = [8, 8]}\nother_boards = []\n',
    ]


def _configure(place: Path, stack: contextlib.ExitStack) -> Run:
    def run(text: str) -> None:
        with contextlib.suppress(TabiaError):
            settings.with_assignments(Config(game="tictactoe"), text.splitlines())
        config = settings.from_toml(text, "config.toml")
        assert settings.from_toml(settings.to_toml(config), "again") == config

    return run


# Manifests of checkpoints.

_MANIFEST = json.dumps(
    {
        "format": "tabia checkpoint 5",
        "game": "tictactoe",
        "game_version": 1,
        "files": {checkpoint.WEIGHTS: "0" * 64},
        "counters": asdict(Counters(iteration=4, seconds=1.5, games=7, positions=9)),
    }
)


def _manifests() -> SearchStrategy[bytes]:
    entries = st.dictionaries(st.sampled_from(("format", "files", "counters", "game", "game_version")), JSON)
    changed = entries.map(lambda found: json.dumps(json.loads(_MANIFEST) | found).encode())
    files = st.dictionaries(pieces(checkpoint.WEIGHTS, checkpoint.STATE), JSON).map(
        lambda found: json.dumps(json.loads(_MANIFEST) | {"files": found}).encode()
    )
    counters = st.dictionaries(pieces("iteration", "seconds", "games"), JSON).map(
        lambda found: json.dumps(json.loads(_MANIFEST) | {"counters": found}).encode()
    )
    return st.one_of(damaged([_MANIFEST.encode()]), changed, files, counters, st.binary())


def _verify(place: Path, stack: contextlib.ExitStack) -> Run:
    folder = place / "4"
    folder.mkdir()
    (folder / checkpoint.WEIGHTS).write_bytes(b"not weights")

    def run(content: bytes) -> None:
        (folder / checkpoint.MANIFEST).write_bytes(content)
        with contextlib.suppress(TabiaError):
            checkpoint.verify(folder)
        with contextlib.suppress(ValueError, RecursionError):  # the part that follows once the digests are right
            found = json.loads(content)
            if isinstance(found, dict):
                checkpoint._counters(folder, found)

    return run


# Moves.


def _moves() -> SearchStrategy[str]:
    word = pieces("a1", "b2", "c3", "B1", "a1b2c3", "#3", "#99", "pass")
    return st.one_of(st.lists(word, max_size=6).map(" ".join), st.lists(word, max_size=6).map("".join), st.text())


def _replay(place: Path, stack: contextlib.ExitStack) -> Run:
    return lambda text: list(Session.from_moves(GAME, text).actions) and None


# Weights.


def _weights_file() -> bytes:
    network = Network(presets.mlp(4, batch_norm=False), GAME.observation_shape, GAME.num_actions, GAME.num_players)
    buffer = io.BytesIO()
    with mock.patch.object(weights.files, "write_atomic", lambda path, content: buffer.write(content)):
        weights.save("memory", network, network.init(jax.random.key(0)), {"game": "tictactoe", "game_version": 1})
    return buffer.getvalue()


def _headers(valid: bytes) -> SearchStrategy[bytes]:
    """The file with a header of the right length but damaged JSON."""
    length = int.from_bytes(valid[:8], "little")
    header, tensors = valid[8 : 8 + length], valid[8 + length :]
    outer = json.loads(header)
    inner = json.loads(outer["__metadata__"]["tabia"])

    def built(changes: dict[str, Any], where: str) -> bytes:
        part = inner["network"] if where == "network" else inner["network"]["config"] if where == "config" else inner
        changed = json.loads(json.dumps(inner))
        target = changed["network"] if where == "network" else changed
        target = changed["network"]["config"] if where == "config" else target
        target.update({key: value for key, value in changes.items() if key in part})
        content = json.dumps({**outer, "__metadata__": {"tabia": json.dumps(changed)}}).encode()
        return len(content).to_bytes(8, "little") + content + tensors

    keys = [*inner, *inner["network"], *inner["network"]["config"]]
    values = st.one_of(JSON, st.integers(0, 10**6), st.sampled_from(ODD))
    changes = st.dictionaries(st.sampled_from(keys), values, max_size=3)
    raw = damaged([header]).map(lambda content: len(content).to_bytes(8, "little") + content + tensors)
    return st.one_of(st.builds(built, changes, st.sampled_from(("manifest", "network", "config"))), raw)


def _weights() -> SearchStrategy[bytes]:
    return st.deferred(lambda: st.one_of(_headers(_weights_file()), damaged([_weights_file()]), st.binary()))


def _load(place: Path, stack: contextlib.ExitStack) -> Run:
    path = place / "weights.safetensors"

    def run(content: bytes) -> None:
        path.write_bytes(content)
        runs.load(GAME, path)

    return run


# Metrics, as shown in a report.

_LINE = json.dumps(
    {
        "iteration": 3,
        "seconds": 1.5,
        "progress": 0.5,
        "total_games": 9,
        "positions": 99,
        "game_length": 7.5,
        "draws": 0.25,
        "scores": [0.1, -0.1],
        "policy_agreement": 0.5,
        "played_prior": 0.4,
        "first_moves": {"4": 7},
        "loss_policy": 0.5,
        "loss_value": 0.25,
        "entropy": 1.5,
        "target_entropy": 1.0,
        "learning_rate": 0.01,
        "agreement_network": 0.9,
        "agreement_search": 1.0,
        "matches": {"random": {"score": 0.9, "low": 0.8, "high": 1.0, "games": 40}},
    }
)


def _metrics() -> SearchStrategy[bytes]:
    changes = st.dictionaries(st.sampled_from(tuple(json.loads(_LINE))), JSON, max_size=4)
    changed = changes.map(lambda found: json.dumps(json.loads(_LINE) | found).encode())
    names = st.dictionaries(pieces("random"), st.just({"score": 0.9, "low": 0.8, "high": 1.0, "games": 40}), max_size=3)
    named = names.map(lambda found: json.dumps(json.loads(_LINE) | {"matches": found}).encode())
    return st.lists(st.one_of(changed, named, damaged([_LINE.encode()])), max_size=3).map(b"\n".join)


def _report(place: Path, stack: contextlib.ExitStack) -> Run:
    run_directory, config = RunDirectory(place), Config(game="tictactoe")

    def run(content: bytes) -> None:
        run_directory.metrics.write_bytes(content)
        (place / "machine.json").write_bytes(b"[" + content.replace(b"\n", b",") + b"]")
        lines = metrics.read(run_directory)
        contents = report.Contents(
            run=run_directory,
            config=config,
            game=GAME,
            lines=lines,
            evaluations=strength.measured(lines),
            figures={},
            ratings="No ratings.",
        )
        text = report.compose(contents, network="none")
        outside = re.sub(r"(?<!\\)`[^`]*`", "", text)  # in code spans Markdown is literal
        assert "<" not in outside and "\x1b" not in text

    return run


TARGETS = (
    Target("players", _specs(), _players),
    Target("games", _ids(), _games),
    Target("records", _records(), _read_records),
    Target("configurations", _configurations(), _configure),
    Target("manifests", _manifests(), _verify),
    Target("moves", _moves(), _replay),
    Target("weights", _weights(), _load),
    Target("metrics", _metrics(), _report),
)
