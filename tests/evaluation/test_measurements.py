"""Measurements: searches by simulation, probability of illegal moves, a board with its policy as SVG."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from tabia import games, players
from tabia.cli.main import app
from tabia.core.errors import TabiaError
from tabia.evaluation.convergence import trace
from tabia.evaluation.illegal import illegal_share
from tabia.games.boards import policy_svg, view
from tabia.games.boards.picture import by_cell
from tabia.games.session import Session
from tabia.networks import Network
from tabia.networks.presets import mlp
from tabia.players import NetworkPlayer
from tabia.players.runs import Agent
from tests.search.toy_games import Race

CONNECT3, TICTACTOE = games.make("connect3"), games.make("tictactoe")
KEY = jax.random.key(3)


@pytest.mark.parametrize("rule", [pytest.param("uct", marks=pytest.mark.long), "gumbel,considered_actions=4"])
def test_a_trace_ends_with_the_search_of_the_player(rule: str) -> None:
    player = players.make(f"mcts:simulations=24,rule={rule}", CONNECT3)
    states = jax.vmap(CONNECT3.init)(jax.random.split(KEY, 2))
    found = trace(player, states, KEY, every=4)
    assert found.simulations.tolist() == [4, 8, 12, 16, 20, 24]
    assert (found.visits.sum(axis=-1) == found.simulations[:, None]).all()
    whole = player.run(states, KEY)  # type: ignore[attr-defined]
    assert (found.visits[-1] == np.asarray(whole.visits)).all() and (found.actions[-1] == whole.action).all()
    assert found.values[-1] == pytest.approx(np.asarray(whole.values), abs=1e-6)
    assert np.abs(np.diff(found.visits, axis=0)).sum(axis=-1).max() == 4  # each row adds four visits


def test_a_row_of_a_trace_is_a_shorter_search() -> None:
    states = jax.vmap(CONNECT3.init)(jax.random.split(KEY, 2))
    found = trace(players.make("mcts:simulations=24", CONNECT3), states, KEY, every=4)
    shorter = players.make("mcts:simulations=12", CONNECT3).run(states, KEY)  # type: ignore[attr-defined]
    assert (found.visits[2] == np.asarray(shorter.visits)).all()
    assert found.values[2] == pytest.approx(np.asarray(shorter.values), abs=1e-6)


def test_only_searches_have_a_trace() -> None:
    states = jax.vmap(CONNECT3.init)(jax.random.split(KEY, 2))
    with pytest.raises(TabiaError, match="random has no search tree"):
        trace(players.make("random", CONNECT3), states, KEY)
    with pytest.raises(TabiaError, match="every=5 must divide the 24 simulations"):
        trace(players.make("mcts:simulations=24", CONNECT3), states, KEY, every=5)


def flat(bias: float = 0.0) -> NetworkPlayer:
    """A network whose logits are 0, but for the first field of tic-tac-toe, which has this one."""
    network = Network.of(mlp(4, batch_norm=False), TICTACTOE)
    variables = jax.tree.map(jnp.zeros_like, network.init(KEY))
    output = next(name for name in variables.params if name.startswith("policy"))
    linear = variables.params[output]["linear"]
    linear["bias"] = jnp.zeros(9).at[0].set(bias)
    return NetworkPlayer(TICTACTOE, Agent(network, network.fold(variables)))


def test_the_share_of_illegal_moves_of_a_uniform_network() -> None:
    """It plays the fields in order until X has 2-4-6: in positions with 0 to 6 stones of 9, a mean of 3 / 9."""
    found = illegal_share(flat(), games=3, random_moves=0)
    assert found.share == pytest.approx(3 / 9, abs=1e-6) and (found.games, found.positions) == (3, 21)


def test_the_share_of_illegal_moves_of_a_network_that_insists() -> None:
    """With logit ln 8 the first field has half of the probability: legal once, then illegal in six positions."""
    found = illegal_share(flat(float(np.log(8))), games=2, random_moves=0)
    taken = [0, *(1 / 2 + (stones - 1) / 16 for stones in range(1, 7))]
    assert found.share == pytest.approx(np.mean(taken), abs=1e-6)
    assert illegal_share(flat(), games=8, random_moves=1).positions < 8 * 7  # random moves do not count


def numbers(svg: str) -> list[str]:
    return re.findall(r">([0-9]+)%<", svg)


def test_a_policy_is_drawn_on_the_cells_where_moves_end() -> None:
    session = Session.from_moves(games.make("connect4"), "4 4")
    svg = policy_svg(session, {3: 0.6, 0: 0.3, 6: 0.1}, [0.5, -0.5], caption="a <player>")
    root = ElementTree.fromstring(svg)
    assert numbers(svg) == ["60", "30", "10"] and "a &lt;player&gt;" in svg
    texts = {one.text: one for one in root.iter("{http://www.w3.org/2000/svg}text")}
    # Column 4 has two stones, so its next one is in the fourth row from the top: y = 24 + 3.5 * 48.
    assert (texts["60%"].get("x"), texts["60%"].get("y")) == ("192.0", "192.0")
    assert float(texts["30%"].get("y") or 0) == 24 + 5.5 * 48
    bars = re.findall(r'width="18" height="([0-9.]+)" fill="#', svg)
    assert [float(bar) for bar in bars] == pytest.approx([0.75 * 288, 0.25 * 288])


def test_no_text_of_a_board_overlaps_another_or_leaves_the_picture() -> None:
    """Measured with the metrics of DejaVu Sans, which is wider than most sans-serif fonts."""
    textpath = pytest.importorskip("matplotlib.textpath")
    session = Session.from_moves(TICTACTOE, "a3 b2")
    for caption in (
        "O saves the game at the bottom left",
        "az:tictactoe,simulations=64",
        "MCTS(1000) AGAINST MCTS(2000)",
    ):
        root = ElementTree.fromstring(policy_svg(session, {0: 0.5, 8: 0.5}, [0.13, -0.81], caption=caption))
        boxes = []
        for one in root.iter("{http://www.w3.org/2000/svg}text"):
            x, y, size = (float(one.get(name) or 0) for name in ("x", "y", "font-size"))
            width = textpath.TextPath((0, 0), one.text, size=size, prop={"family": "DejaVu Sans"}).get_extents().x1
            left = x - width / 2 if one.get("text-anchor") == "middle" else x
            boxes.append((left, left + width, y - size / 2, y + size / 2))
        right, bottom = float(root.get("width") or 0), float(root.get("height") or 0)
        assert all(x0 >= 0 and x1 <= right and y0 >= 0 and y1 <= bottom for x0, x1, y0, y1 in boxes)
        pairs = [(one, other) for index, one in enumerate(boxes) for other in boxes[:index]]
        assert pairs and not any(a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3] for a, b in pairs)


def test_a_board_says_who_is_to_move() -> None:
    moves = "a1 a2 b1 b2 c1"  # X wins
    session, shown = Session.from_moves(TICTACTOE, moves), []
    for ply in range(6):
        root = ElementTree.fromstring(policy_svg(session.at(ply), {}))
        shown.append([one.text for one in root.iter("{http://www.w3.org/2000/svg}text")])
    first, second = ["Seat 1 (X) to move"], ["Seat 2 (O) to move"]
    assert shown == [first, second, first, second, first, []]


def test_moves_that_end_on_the_same_cell_add_up() -> None:
    session = Session.from_moves(games.make("chinese-checkers"), "")
    legal = np.flatnonzero(session.legal).tolist()
    cells, others = by_cell(view(session.game), session, dict.fromkeys(legal, 1 / len(legal)))
    assert sum(cells.values()) + sum(others.values()) == pytest.approx(1) and len(cells) < len(legal)


def test_a_game_without_cells_lists_its_moves() -> None:
    session = Session.from_moves(Race(), "")
    action = int(np.flatnonzero(session.legal)[0])
    svg = policy_svg(session, {action: 1.0}, [0.25, -1.0, 0.0])
    ElementTree.fromstring(svg)
    assert "100%" in svg and "seat 1 +0.25" in svg and svg.lower().count("to move") == 1


def test_the_commands(tmp_path: Path) -> None:
    board, rows = tmp_path / "board.svg", tmp_path / "trace.csv"
    arguments = ["analyze", "connect3", "--player", "mcts:simulations=24", "--svg", str(board), "--trace", str(rows)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    ElementTree.fromstring(board.read_text())
    lines = rows.read_text().splitlines()
    assert lines[0] == "simulations,move,value.1,value.2,visits.1,visits.2,visits.3,visits.4" and len(lines) == 25
    assert sum(map(int, lines[-1].split(",")[-4:])) == 24
    done = CliRunner().invoke(app, ["illegal", "connect3", "connect3", "--games", "8", "--json"])
    assert done.exit_code == 0 and '"share"' in done.output, done.output
