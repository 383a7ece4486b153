"""What single choices of the search are worth, at equal simulations and at equal time, on three games.

Each choice is a match of an agent with it against the same agent without it. At equal time the slower side gets as many
fewer simulations as it is slower, measured on this machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from tabia.core import batching
from tabia.games import make as make_game
from tabia.games.game import Game, State
from tabia.players import Player
from tabia.players import make as make_player
from tabia.search.evaluators import random_actions
from tabia.studies.estimates import spread
from tabia.studies.matches import MakePlayer, MatchPart, score, spec
from tabia.studies.part import Measurement, Outcome, Part, Place, part_seed
from tabia.studies.plots import Curve, Figure
from tabia.studies.study import Scale, Source, Study
from tabia.studies.verdicts import Claim, above

CHOICES = {  # the options with the choice and without it
    "winning moves first": ("winning_moves_first=true", "winning_moves_first=false"),
    "symmetries": ("symmetries=true", "symmetries=false"),
    "8 leaves per step": ("rule=puct,leaves=8", "rule=puct,leaves=1"),
    "Gumbel, not PUCT": ("rule=gumbel", "rule=puct"),
    "tree reuse": ("rule=puct,reuse_tree=true", "rule=puct"),
    "transpositions": ("rule=puct,transpositions=true", "rule=puct"),
    "proven values": ("rule=puct,proven_values=true", "rule=puct"),
}
GAMES = ("connect4", "othello", "chinese-checkers")
REPEATS = 15  # of the measurement of speed
HALF = 50.0  # of the points: a choice that makes no difference
WITHIN = 2.0  # points; a smaller difference counts as none


@dataclass(frozen=True, kw_only=True)
class ChoiceScale(Scale):
    """Sizes of the study."""

    games: int  # per match and seed
    simulations: int
    agents: tuple[tuple[str, str], ...]  # game and agent
    choices: tuple[str, ...] = tuple(CHOICES)
    batch: int = 64  # positions of the measurement of speed


SCALES = (
    ChoiceScale(
        name="tiny",
        about="tic-tac-toe, 16 games per match, 4 simulations",
        games=16,
        simulations=4,
        agents=(("tictactoe", "tictactoe"),),
        choices=("winning moves first",),
        batch=8,  # as many as each player gets in the match, so that both share their programs
    ),
    ChoiceScale(
        name="quick",
        about="Connect 4 with the agent connect4-laptop, 32 simulations, 100 games per seed and match",
        games=100,
        simulations=32,
        agents=(("connect4", "connect4-laptop"),),
        seeds=2,
        trends=True,
    ),
    ChoiceScale(
        name="full",
        about="64 simulations, 1,000 games per seed and match",
        games=1000,
        simulations=64,
        agents=tuple((game, game) for game in GAMES),
        seeds=2,
        trends=True,
    ),
)


def _label(game: str, choice: str) -> str:
    return f"{game}, {choice}"


def _keys(label: str) -> tuple[str, str, str]:
    return f"{label}: cost", f"{label}: score", f"{label}: in time"


def _spec(agent: str, simulations: int, options: str) -> str:
    return f"az:{agent},simulations={simulations},{options}"


def midgame(game: Game, batch: int, seed: int = 0) -> State:
    """Positions after random moves: a quarter of the longest game, at most 12."""
    keys, states = batching.start(game, jax.random.split(jax.random.key(seed), batch))
    for ply in range(min(game.max_moves // 4, 12)):
        actions = random_actions(jax.random.key(ply), jax.vmap(game.legal)(states))
        keys, states = batching.step(game, keys, states, actions)
    return states


def seconds_per_call(players: Sequence[Player], states: State) -> np.ndarray:
    """How long each player thinks about a batch of positions, after compilation: [player, repeat], in turns."""
    found = np.zeros((len(players), REPEATS + 1))
    for repeat in range(REPEATS + 1):
        for index, player in enumerate(players):
            started = time.perf_counter()
            jax.block_until_ready(player.choose(states, jax.random.key(repeat)).actions)
            found[index, repeat] = time.perf_counter() - started
    return found[:, 1:]


def _parts(scale: ChoiceScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        for game, agent in scale.agents:
            for choice in scale.choices:
                found += _of_choice(scale, seed, repeat, game, agent, choice)
    return found


def _of_choice(scale: ChoiceScale, seed: int, repeat: int, game: str, agent: str, choice: str) -> list[Part]:
    """The cost of a choice, and its matches at equal simulations and at equal time."""
    cost, equal, timed = _keys(_label(game, choice))
    name = f"{game}-{choice}".lower().replace(",", "").replace(" ", "-")
    speed = f"{name}-cost-{repeat}"
    chosen, without = (_spec(agent, scale.simulations, options) for options in CHOICES[choice])

    def slower(played: Game, place: Place) -> Player:
        """The agent with the choice and as many fewer simulations as it is slower."""
        fewer = max(round(scale.simulations / place.outcome_of(speed).estimates[0].value), 1)
        leaves = 8 if "leaves=8" in CHOICES[choice][0] else 1
        return make_player(_spec(agent, max(fewer // leaves * leaves, leaves), CHOICES[choice][0]), played)

    def match(kind: str, key: str, first: MakePlayer, needs: tuple[str, ...] = ()) -> MatchPart:
        return MatchPart(
            name=f"{name}-{kind}-{repeat}",
            keys=(key,),
            game=game,
            players=(first, spec(without)),
            games=scale.games,
            batch=1024,
            measure=lambda played, records, names: Outcome((score(key, played, records, names[0]),)),
            match_seed=part_seed(seed, repeat, f"{name}-{kind}"),
            opening_moves=None,
            seed=repeat,
            needs=needs,
        )

    return [
        _cost(scale, repeat, name=speed, key=cost, game=game, specs=(chosen, without)),
        match("equal", equal, spec(chosen)),
        match("timed", timed, slower, needs=(speed,)),
    ]


def _cost(scale: ChoiceScale, repeat: int, *, name: str, key: str, game: str, specs: tuple[str, str]) -> Measurement:
    """How many times as long the first player thinks as the second."""

    def measure(place: Place) -> Outcome:
        played = make_game(game)
        states = midgame(played, scale.batch)
        chosen, without = seconds_per_call([make_player(text, played) for text in specs], states)
        return Outcome((spread(key, chosen / without, "times as long"),))

    return Measurement(name=name, keys=(key,), measure=measure, seed=repeat)


def _gain(game: str, title: str, choice: str) -> Claim:
    """The agent with a choice beats the agent without it at equal time."""
    key = _keys(_label(game, choice))[2]
    return above(f"With {choice}, an agent scores more in {title} at equal time", "", key=key, than=HALF)


def _no_gain(choice: str) -> Claim:
    """A choice makes no difference at Connect 4."""
    key = _keys(_label("connect4", choice))[2]
    statement = f"With {choice}, the score in Connect 4 changes by at most {WITHIN:g} points at equal time"
    return Claim(statement, "", ((key, 1.0),), within=WITHIN, than=HALF)


STUDY = Study(
    name="search-choices",
    version=2,
    question="What are single choices of the search worth, at equal simulations and at equal time?",
    source=Source("Tabia", ""),
    scales=SCALES,
    parts=_parts,
    published=(),
    claims=(
        *(
            _gain(game, title, choice)
            for game, title in (("othello", "Othello"), ("chinese-checkers", "Chinese checkers"))
            for choice in CHOICES
        ),
        *map(_no_gain, CHOICES),
    ),
    figures=tuple(
        Figure(
            name=name,
            title=title,
            x="game",
            y=y,
            curves=tuple(
                Curve(choice, tuple((game, _keys(_label(game, choice))[index]) for game in ("tictactoe", *GAMES)))
                for choice in CHOICES
            ),
            joined=False,
        )
        for index, name, title, y in (
            (
                1,
                "equal-simulations",
                "Score with a choice at equal simulations; 50% is no difference",
                "score, % of points",
            ),
            (2, "equal-time", "Score with a choice at equal time; 50% is no difference", "score, % of points"),
            (0, "cost", "Time per move with a choice, divided by the time without", "times as long"),
        )
    ),
    notes=(
        "Players compute on the device of the run. The costs here are of a GPU that other programs used at the same "
        "time: both players were timed in turns, fifteen times each. A GPU evaluates eight leaves almost as fast as "
        "one, so at equal time a search with eight leaves per step has several times as many simulations.",
        "In Connect 4 no choice makes a difference of more than two points, because the agent plays almost perfectly "
        "either way. At equal time, proven values lose on a GPU: they cost more time there than they save in "
        "simulations.",
        "The statements below are ours: every choice should score more than half of the points at equal time. Their "
        "differences are in percent of the points, from one half.",
    ),
)
