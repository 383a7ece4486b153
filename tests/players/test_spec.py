"""The language of players: what is written is read back, and what is misspelt is told with the nearest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabia import games, players
from tabia.core.errors import TabiaError
from tabia.players.spec import Options, PlayerError, Spec, parse

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
    ("text", "told"),
    [
        ("mtcs", "There is no player 'mtcs'. Did you mean mcts?"),
        ("", "There is no player ''"),
        ("mcts:simulation=8", "mcts has no option 'simulation'. Did you mean simulations"),
        ("random:temprature=1", "Did you mean temperature?"),
        ("mcts:select=utc", "Did you mean uct"),
        ("mcts:simulations=many", "simulations=many in mcts:simulations=many: a number is needed."),
        ("mcts:simulations=1.5", "a whole number is needed"),
        ("mcts:simulations=0", "at least 1 is needed"),
        ("mcts:c=nan", "a number is needed"),
        ("random:epsilon=2", "at most 1 is allowed"),
        ("mcts:c=1,c=2", "'c' is given twice"),
        ("mcts:c=", "is no option; write key=value"),
        ("mcts:simulations=8,fast", "'fast' in 'mcts:simulations=8,fast' is no option"),
        ("mcts:800", "mcts takes options only, as in mcts:simulations=800; '800' is none."),
        ("mcts:select=omc,c=2", "c belongs to select=uct and select=puct"),
        ("az:untrained,select=gumbel,c=2", "c belongs to select=puct"),
        ("az:untrained,select=gumbel,seconds=1", "sequential halving must know its budget"),
        ("mcts:simulations=10,leaves=4", "10 simulations cannot be done 4 leaves at a time"),
        ("minimax:depth=0", "at least 1 is needed"),
        ("human", "`tabia play`"),
        ("az", "az needs to know which network"),
        ("az:no/such/run", "There is no run 'no/such/run'"),
        ("az:untrained@best", "untrained has no versions"),
    ],
)
def test_refusals_finish_the_sentence(text: str, told: str) -> None:
    with pytest.raises(TabiaError) as refusal:
        players.make(text, games.make("connect4"))
    assert told in str(refusal.value)


def test_players_that_need_a_heuristic_say_so() -> None:
    for name in ("greedy", "initialize"):
        with pytest.raises(PlayerError, match="tictactoe has none"):
            players.make(name, games.make("tictactoe"))


def test_every_name_is_known_and_human_is_the_only_one_that_is_refused() -> None:
    game = games.make("connect3")
    for name in players.names():
        text = f"{name}:untrained" if name in ("az", "network") else name
        if name == "human":
            with pytest.raises(PlayerError):
                players.make(text, game)
        else:
            assert players.make(text, game).spec == text


def test_options_know_what_was_asked() -> None:
    options = Options(parse("x:a=1,b=true"))
    assert options.whole("a", 0) == 1 and options.flag("b", False) is True and options.number("d", None) is None
    options.close()
