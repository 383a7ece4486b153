"""Specs: text and players convert both ways, and misspelled names get suggestions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabia import games, players
from tabia.core.errors import TabiaError
from tabia.players import runs
from tabia.players.spec import Options, PlayerError, Spec, parse
from tabia.search import Gumbel, MiniAlphaGo, Omc, Puct

WORD = st.text("abcdefgz0189_.-/", min_size=1, max_size=8)


@given(WORD, st.none() | WORD, st.none() | WORD, st.dictionaries(WORD, WORD, max_size=4))
def test_specs_read_back_as_written(name: str, what: str | None, version: str | None, options: dict[str, str]) -> None:
    spec = Spec(name, what, version if what else None, options)
    assert parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("random", Spec("random")),
        (" mcts : simulations = 800 , c = 1.4 ", Spec("mcts", None, None, {"simulations": "800", "c": "1.4"})),
        ("az:runs/a@latest", Spec("az", "runs/a", "latest")),
        ("az:me@home/run@300,leaves=4", Spec("az", "me@home/run", "300", {"leaves": "4"})),
        ("az:connect4", Spec("az", "connect4")),
    ],
)
def test_examples(text: str, spec: Spec) -> None:
    assert parse(text) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mtcs", "There is no player 'mtcs'. Did you mean mcts?"),
        ("", "There is no player ''"),
        ("mcts:simulation=8", "mcts has no option 'simulation'. Did you mean simulations"),
        ("random:temprature=1", "Did you mean temperature?"),
        ("mcts:rule=utc", "Did you mean uct"),
        ("mcts:simulations=many", "simulations=many in mcts:simulations=many: expected a number."),
        ("mcts:simulations=1.5", "expected an integer"),
        ("mcts:simulations=0", "expected at least 1"),
        ("mcts:c=nan", "expected a number"),
        ("random:epsilon=2", "expected at most 1"),
        ("mcts:c=1,c=2", "'c' is given twice"),
        ("mcts:c=", "is not an option; write key=value"),
        ("mcts:simulations=8,fast", "'fast' in 'mcts:simulations=8,fast' is not an option"),
        ("mcts:800", "'800' is not an option of mcts; write mcts:simulations=800."),
        ("mcts:rule=omc,c=2", "c applies only to rule=puct and rule=uct"),
        ("az:untrained,rule=gumbel,c=2", "c applies only to rule=puct and rule=uct"),
        ("az:untrained,finish=true", "There is no option 'finish'. It is now called 'winning_moves_first'."),
        ("az:untrained,considered=8", "There is no option 'considered'. It is now called 'considered_actions'."),
        ("az:untrained,select=puct", "There is no option 'select'. It is now called 'rule'."),
        ("az:untrained,noise=1", "It is now called 'gumbel_scale' or 'dirichlet_fraction'."),
        ("az:untrained,rule=puct,dirichlet_fraction=2", "dirichlet_fraction=2: expected a number from 0 to 1"),
        ("az:untrained,rule=gumbel,seconds=1", "Gumbel must know the number of simulations in advance"),
        ("mcts:simulations=10,leaves=4", "simulations=10 must be a multiple of leaves=4"),
        ("minimax:depth=0", "expected at least 1"),
        ("human", "`tabia play`"),
        ("az", "az needs a network"),
        ("az:no/such/run", "There is no run 'no/such/run'"),
        ("az:tictacto", "Did you mean tictactoe?"),
        ("az:untrained@best", "untrained has no versions"),
    ],
)
def test_error_messages(text: str, message: str) -> None:
    with pytest.raises(TabiaError) as refusal:
        players.make(text, games.make("connect4"))
    assert message in str(refusal.value)
    assert str(refusal.value).count("connect4-laptop") <= 1, "what is shipped is listed once"


def test_players_that_need_a_heuristic_are_refused_without_one() -> None:
    for name in ("greedy", "initialize"):
        with pytest.raises(PlayerError, match="tictactoe has none"):
            players.make(name, games.make("tictactoe"))


def test_every_player_but_engines_can_be_made_except_human() -> None:
    """Outside engines need a command and have tests of their own."""
    game = games.make("connect3")
    for name in players.names():
        if name in ("gtp", "uci", "gnubg"):
            continue
        text = f"{name}:untrained" if name in ("az", "network") else name
        if name == "human":
            with pytest.raises(PlayerError):
                players.make(text, game)
        else:
            assert players.make(text, game).spec == text


def test_options_are_read_by_type() -> None:
    options = Options(parse("x:a=1,b=true"))
    assert options.whole("a", 0) == 1 and options.flag("b", False) is True and options.number("d", None) is None
    options.close()


VALUES: list[Callable[[games.Game], players.Player]] = [
    players.RandomPlayer,
    players.GreedyPlayer,
    lambda game: players.MinimaxPlayer(game, depth=3),
    players.PerfectPlayer,
    lambda game: players.PerfectPlayer(game, fastest=False),
    players.MCTSPlayer,
    lambda game: players.MCTSPlayer(game, simulations=100, rule=Puct(c=2.5), rollouts=2, leaves=4, final="secure"),
    lambda game: players.MCTSPlayer(game, simulations=100, rule=Omc(), heuristic_weight=0.25, until_agreed=True),
    lambda game: players.NetworkPlayer(game, "connect3", symmetries=True),
    lambda game: players.AlphaZeroPlayer(game, "connect3"),
    lambda game: players.AlphaZeroPlayer(game, "connect3", simulations=8, rule=Gumbel(considered_actions=3)),
    lambda game: players.AlphaZeroPlayer(game, "untrained", rule=MiniAlphaGo(c1=0.5), winning_moves_first=False),
    lambda game: players.AlphaZeroPlayer(game, "untrained", seconds=0.5, simulations=8, rollout_weight=0.5),
    lambda game: players.AlphaZeroPlayer(
        game, runs.untrained(game, seed=3), rule=Puct(own_visit=False, dirichlet_fraction=0.1, base=100.0)
    ),
    lambda game: players.Modified(players.RandomPlayer(game), players.Habits(epsilon=0.5, random_moves=2)),
    lambda game: players.Modified(players.RandomPlayer(game), players.Habits(epsilon=0.5, sampled_plies=3)),
]


@pytest.mark.parametrize("build", VALUES)
def test_players_from_values_have_specs_that_make_equal_players(
    build: Callable[[games.Game], players.Player],
) -> None:
    game = games.make("connect3")
    player = build(game)
    again = players.make(player.spec, game)
    assert again == player and again.spec == player.spec
    assert players.make(f"{player.spec}{',' if ':' in player.spec else ':'}temperature=1", game) != player


def test_specs_are_text_with_options_that_are_not_the_defaults() -> None:
    game = games.make("connect3")
    rule = Puct(c=2.0, dirichlet_fraction=0.25)
    assert players.RandomPlayer(game).spec == "random"
    assert players.MCTSPlayer(game, simulations=800).spec == "mcts:simulations=800"
    assert players.AlphaZeroPlayer(game, "connect3", simulations=64, rule=rule).spec == (
        "az:connect3,simulations=64,rule=puct,c=2,dirichlet_fraction=0.25"
    )
