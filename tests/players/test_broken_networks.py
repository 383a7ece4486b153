"""A network that overflows is reported, with the position, by every player and command that uses it."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tabia import players
from tabia.cli.main import app
from tabia.games.session import Session
from tabia.players import PlayerError
from tabia.players.tree_player import SearchPlayer
from tabia.search import Evaluation, Gumbel, Puct, Search
from tabia.search.tree import root_view
from tabia.training.arena import make_player, play_match
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tests.training.conftest import TINY

from .hostile import GAME, NETWORK, everywhere, save, with_stone_on_a3

KEY = jax.random.key(0)
WORDS = "returned NaN, an infinity or a value outside"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("everywhere"), everywhere())


@pytest.fixture(scope="module")
def partly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("partly"), with_stone_on_a3())


def batch(*games: str) -> object:
    states = [Session.from_moves(GAME, moves).state for moves in games]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


SEARCHED = "az:{},simulations=16,rule=puct,c=4,winning_moves_first=false"


def test_position_in_the_tree_is_reported(partly: Path) -> None:
    """No root has a stone on a3; a position in its tree does, and makes the network overflow."""
    player = players.make(SEARCHED.format(partly), GAME)
    with pytest.raises(PlayerError, match=WORDS) as refusal:
        player.choose(batch("b2", "c1", "c1", "c1"), KEY)
    text = str(refusal.value)
    assert text.startswith(f"az:{partly},simulations=16") and "in the search of position 1 of 4" in text
    board = [line.split()[1:] for line in text.splitlines() if line[:1] in "123"]
    assert board[0][0] in "XO" and board[1][1] == "X"  # a3 is taken; the game began with b2


def test_other_positions_of_the_same_network_are_played(partly: Path) -> None:
    player = players.make(f"network:{partly}", GAME)
    choice = player.choose(batch("", "b2", "b2 c1"), KEY)
    assert np.isfinite(np.asarray(choice.policy)).all()
    with pytest.raises(PlayerError, match="position 2 of 3; 1 of 3 searches") as refusal:
        player.choose(batch("", "a3", "b2"), KEY)
    assert GAME.draw(Session.from_moves(GAME, "a3").state) in str(refusal.value)


def test_finished_games_in_the_batch_do_not_matter(partly: Path) -> None:
    """The games are over with a stone on a3, so the network's output does not matter."""
    line = "a3 a2 b3 b2 c3"
    assert bool(GAME.over(Session.from_moves(GAME, line).state))
    for spec in ("network:{}", SEARCHED):
        players.make(spec.format(partly), GAME).choose(batch(*[line] * 4), KEY)


def test_compiled_calls_do_not_raise(broken: Path) -> None:
    player = players.make(f"network:{broken}", GAME)
    actions = jax.jit(lambda states: player.choose(states, KEY).actions)(batch("b2"))
    assert actions.shape == (1,)


def constant(parameters, states, key) -> Evaluation:
    logits, values = (jnp.broadcast_to(leaf[None], (len(states.stones), *leaf.shape)) for leaf in parameters)
    return Evaluation(logits, values)


@pytest.mark.parametrize("rule", [Gumbel(gumbel_scale=0.0), Puct()])
@pytest.mark.parametrize("value", [1e30, 2.0, -np.inf])
def test_values_out_of_range_are_reported(rule: object, value: float) -> None:
    """Values are scaled to [-1, 1]; larger ones would dominate every search."""
    search = Search(GAME, constant, 32, rule)
    with pytest.raises(PlayerError, match=f"mine: The evaluator {WORDS}"):
        SearchPlayer(search, (jnp.zeros(9), jnp.full(2, value)), name="mine").run(batch("b2"), KEY)


@pytest.mark.parametrize("rule", [Gumbel(gumbel_scale=0.0), Puct()])
def test_huge_logits_keep_legal_moves_legal(rule: object) -> None:
    logits = jnp.full(9, -1e30).at[8].set(1e30)
    result = Search(GAME, constant, 32, rule).run((logits, jnp.zeros(2)), batch("b2"), KEY)
    legal = np.asarray(GAME.legal(Session.from_moves(GAME, "b2").state))
    assert np.asarray(root_view(result.tree).legal)[0].tolist() == legal.tolist()
    assert np.isfinite(np.asarray(result.values)).all()
    assert np.asarray(result.policy).sum() == pytest.approx(1.0)


def test_training_stops_at_its_gate() -> None:
    plan = Plan(TINY.changed({"network": NETWORK.config, "gate.games": 2}))
    challenger = make_player(plan, everywhere(), 0, "challenger")
    with pytest.raises(TrainingError, match="challenger: .*" + WORDS) as refusal:
        play_match(plan, challenger, players.make("random", plan.game), seed=0)
    assert "The last checkpoint is sound" in str(refusal.value)


def tabia(*words: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "tictactoe", "--moves", "b2", "--player", "az:{},simulations=4"),
        ("analyze", "tictactoe", "--moves", "b2", "--json", "--player", "az:{},simulations=4"),
        ("analyze", "tictactoe", "--moves", "b2", "--json", "--player", "network:{}"),
        ("match", "tictactoe", "az:{},simulations=4", "random", "--games", 2),
        ("match", "tictactoe", "network:{},epsilon=0.5", "random", "--games", 2),
        ("tournament", "tictactoe", "network:{}", "random", "random:epsilon=1", "--games", 2),
        ("accuracy", "tictactoe", "network:{}", "--positions", 20),
        ("prove", "tictactoe", "network:{}"),
        ("play", "tictactoe", "--terminal", "--against", "network:{}", "--moves", "b2", "--seat", 1),
        ("play", "tictactoe", "--terminal", "--against", "random", "--hint", "network:{}", "--moves", "b2 a3"),
    ],
    ids=lambda words: " ".join(str(word) for word in words[:1] + words[-4:]),
)
def test_every_command_reports_it_and_exits_with_2(broken: Path, words: tuple[object, ...]) -> None:
    result = tabia(*(str(word).format(broken) for word in words), stdin="hint\nquit\n")
    assert result.exit_code == 2, result.output
    assert WORDS in result.stderr and "use another checkpoint" in result.stderr and "\n3 " in result.stderr
    assert "nan" not in result.stdout.lower()


def test_ratings_of_a_run_with_an_overflowing_checkpoint(tmp_path: Path) -> None:
    run = tmp_path / "run"
    save(run / "checkpoints" / "000001", NETWORK.init(jax.random.key(1)), step=1)
    save(run / "checkpoints" / "000002", everywhere(), step=2)
    (run / "config.toml").write_text("")
    result = tabia("rate", run, "--simulations", 0, "--games", 2)
    assert result.exit_code == 2 and WORDS in result.stderr and "@2" in result.stderr
