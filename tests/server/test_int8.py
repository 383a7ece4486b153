"""Networks in 8 bits on a server: where they can be, and only where the operator asks for them."""

from __future__ import annotations

from pathlib import Path

from tabia.games import make
from tabia.games.session import Session
from tabia.players import AlphaZeroPlayer, analyze
from tabia.players import make as make_player
from tabia.server.analysis.int8 import make_int8
from tabia.server.web.context import make_context

SPEC = "az:connect4-laptop,simulations=4"


def test_networks_that_can_be_are_in_8_bits_and_other_players_are_as_they_are() -> None:
    connect4, tictactoe = make("connect4"), make("tictactoe")
    agent = make_int8(SPEC, connect4)
    assert isinstance(agent, AlphaZeroPlayer) and agent.int8 and agent.simulations == 4
    small = make_int8("az:tictactoe,simulations=2", tictactoe)  # a network without wide convolutions
    assert isinstance(small, AlphaZeroPlayer) and not small.int8
    assert make_int8("mcts:simulations=2", tictactoe).spec == "mcts:simulations=2"


def test_a_server_with_int8_answers_as_the_player_with_int8_does(tmp_path: Path) -> None:
    parts = make_context(("connect4",), data=tmp_path / "data", runs=tmp_path / "runs", sizes=(1,), int8=True)
    game = make("connect4")
    session = Session.from_moves(game, "443")
    try:
        found = parts.worker.analyze(f"connect4\t{SPEC}", session).result(timeout=120)
    finally:
        parts.worker.close()
        parts.worker.join()
        parts.store.close()
    expected = analyze(make_player(f"{SPEC},int8=true", game), session)
    assert found.values == expected.values and found.to_dict() == expected.to_dict()
