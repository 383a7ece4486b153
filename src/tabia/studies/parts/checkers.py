"""Runs and matches of the study of three-player Chinese checkers (Schulte 2021).

`checkers_versions` has the accepted versions, `checkers_seats` the matches of sections 9.4 and 9.6, and
`checkers_positions` what the network thinks of positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tabia.evaluation import Record
from tabia.games.game import Game
from tabia.studies.estimates import Estimate, average, exact, percentage
from tabia.studies.matches import MakePlayer, MatchPart, Measure, score, spec, trained, until, version
from tabia.studies.part import Outcome, part_seed
from tabia.studies.study import Scale
from tabia.studies.trainings import TINY, TINY_RECIPE, TINY_SEARCH, Lines, TrainingPart

RECIPE, SEATS = "schulte-chinese-checkers", 3
VARIANTS: dict[str, tuple[tuple[str, Any], ...]] = {
    "published": (),
    "no loop cutting": (("search.cut_loops", False), ("search.cut_loops_history", False)),
    "c too low": (("search.c", 1.0),),
    "c too high": (("search.c", 100.0),),
}
"""Changes of the recipe; its c is 10, which is 15 on Schulte's scale of scores."""
VARIANT_ITERATIONS = 14
"""How long the other variants train: the games of the Initialize agent and ten sessions."""
AS_TRAINED = (("search.ties", "first"), ("gate.opening_moves", -1), ("gate.temperature_moves", 0))
"""What the first seed was trained with; the recipe follows the thesis in these settings since then."""
VERSIONS_ONLY = (("checkpoints.every", 1_000_000),)
"""A checkpoint is 400 MiB, most of it the optimizer and the replay buffer, and only accepted versions are measured."""
VERSIONS = 5  # evenly spaced over training, of which the first is the untrained network
ACCEPTED, SESSIONS, ACCEPTED_SHARE = "accepted versions", "sessions", "sessions that ended in an accepted version"
GREEDY = "greedy"
KINDS = {"agent": "az", "network": "network"}


@dataclass(frozen=True, kw_only=True)
class CheckersScale(Scale):
    """Sizes of the study."""

    games: int  # per match with search
    network_games: int  # per match without
    simulations: int = 200
    versions: tuple[int, ...] = tuple(range(VERSIONS))
    variants: tuple[str, ...] = tuple(VARIANTS)
    sessions: tuple[int, ...] = (1, 2)  # after which accepted versions are counted
    changes: tuple[tuple[str, Any], ...] = ()
    tiny: bool = False

    @property
    def seats(self) -> int:
        """The seats of the game."""
        return 2 if self.tiny else SEATS


def score_key(kind: str, index: int) -> str:
    return f"{kind}, version {index} of {VERSIONS - 1}: score"


def points_key(kind: str, index: int, alone: bool) -> str:
    return f"{kind}, version {index}, {'1 against 2' if alone else '2 against 1'}: points"


def slug(text: str) -> str:
    return text.lower().replace(" ", "-")


def _accepted(lines: Lines) -> tuple[Estimate, ...]:
    gated = [line for line in lines if "gate_passed" in line]
    passed = sum(bool(line["gate_passed"]) for line in gated)
    return (
        exact(ACCEPTED, passed + 1, "versions"),  # with the one after the teacher's games
        exact(SESSIONS, len(gated) + 1, "sessions"),
        percentage(ACCEPTED_SHARE, passed, max(len(gated), 1), "% of sessions"),
    )


def length_key(variant: str) -> str:
    return f"{variant}: moves per game"


def _lengths(variant: str) -> Callable[[Lines], tuple[Estimate, ...]]:
    def measure(lines: Lines) -> tuple[Estimate, ...]:
        lengths = [line["game_length"] for line in lines if "game_length" in line][-5:]
        lengths = lengths * 2 if len(lengths) == 1 else lengths
        found = average(length_key(variant), lengths, "moves")
        return (*(_accepted(lines) if variant == "published" else ()), found)

    return measure


def training(scale: CheckersScale, seed: int, repeat: int, variant: str) -> TrainingPart:
    counts = (ACCEPTED, SESSIONS, ACCEPTED_SHARE) if variant == "published" else ()
    return TrainingPart(
        name=f"train-{slug(variant)}-{repeat}",
        recipe=TINY_RECIPE if scale.tiny else RECIPE,
        run_seed=part_seed(seed, repeat, "train"),
        changes=TINY if scale.tiny else (*VERSIONS_ONLY, *AS_TRAINED, *scale.changes, *_changes(variant)),
        curves=("loss_policy", "loss_value", "game_length", "gate_passed"),
        keys=(*counts, length_key(variant)),
        measure=_lengths(variant),
        seed=repeat,
        cost=50.0,
    )


def _changes(variant: str) -> tuple[tuple[str, Any], ...]:
    shorter = () if variant == "published" else (("iterations", VARIANT_ITERATIONS),)
    return (*VARIANTS[variant], *shorter)


def player_of(scale: CheckersScale, run: str, kind: str, index: int | None = None, *, before: int = 0) -> MakePlayer:
    """A version of a run, with search or without; the first two moves of every player are random."""
    options = _search(scale) if kind == "agent" else ""
    if index is None:
        return trained(run, options, player=KINDS[kind])
    return version(run, index, VERSIONS, options, player=KINDS[kind], before=before)


def _search(scale: CheckersScale) -> str:
    rule = "rule=puct,c=10,own_visit=false,untried_value=lowest,cut_loops=true,ties=random"
    return TINY_SEARCH if scale.tiny else f"simulations={scale.simulations},{rule},winning_moves_first=false"


def game_id(scale: CheckersScale) -> str:
    return "tictactoe" if scale.tiny else "chinese-checkers"


def opponent(scale: CheckersScale) -> MakePlayer:
    return spec("random" if scale.tiny else GREEDY)


def points(records: Sequence[Record], player: str, alone: bool) -> list[float]:
    """The points per seat of a player in the games in which it has one seat, or all but one."""
    held = [record for record in records if (record.players.count(player) == 1) == alone]
    return [record.scores[seat] for record in held for seat, name in enumerate(record.players) if name == player]


def against_greedy(scale: CheckersScale, seed: int, repeat: int, kind: str, index: int) -> MatchPart:
    keys = (score_key(kind, index), points_key(kind, index, True), points_key(kind, index, False))
    return match_part(
        scale,
        seed,
        repeat,
        name=f"{kind}-{index}-against-greedy",
        keys=keys,
        measure=_score_and_points(keys),
        players=(player_of(scale, f"train-published-{repeat}", kind, index), opponent(scale)),
        games=scale.games if kind == "agent" else scale.network_games,
    )


def _score_and_points(keys: tuple[str, str, str]) -> Measure:
    """The score of the first player, and its points alone and as two of three."""

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        won = score(keys[0], game, records, names[0])
        alone, double = (points(records, names[0], one) or [0.0, 0.0] for one in (True, False))
        return Outcome((won, average(keys[1], alone, "points"), average(keys[2], double, "points")))

    return measure


def previous_keys(kind: str, index: int) -> tuple[str, str, str]:
    start = f"{kind} {index} against previous"
    return f"{start}: score", f"{start}, 1 against 2: points", f"{start}, 2 against 1: points"


def against_previous(scale: CheckersScale, seed: int, repeat: int, kind: str, index: int) -> MatchPart:
    """A version against the one accepted just before it (9.1), not against the one before it among `VERSIONS`."""
    run = f"train-published-{repeat}"
    return match_part(
        scale,
        seed,
        repeat,
        name=f"{kind}-{index}-against-previous",
        keys=previous_keys(kind, index),
        measure=_score_and_points(previous_keys(kind, index)),
        players=(player_of(scale, run, kind, index), player_of(scale, run, kind, index, before=1)),
        games=scale.games if kind == "agent" else scale.network_games,
    )


def variant_key(variant: str) -> str:
    return f"{variant}: score against the published"


def final_match(scale: CheckersScale, seed: int, repeat: int, variant: str) -> MatchPart:
    """A variant against the published settings after as many sessions."""

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        return Outcome((score(variant_key(variant), game, records, names[0]),))

    other = f"train-{slug(variant)}-{repeat}"
    return match_part(
        scale,
        seed,
        repeat,
        name=f"{slug(variant)}-against-published",
        keys=(variant_key(variant),),
        measure=measure,
        players=(
            player_of(scale, other, "agent"),
            until(f"train-published-{repeat}", VARIANT_ITERATIONS, _search(scale)),
        ),
        games=scale.games,
        needs=(other,),
    )


def match_part(
    scale: CheckersScale,
    seed: int,
    repeat: int,
    *,
    name: str,
    keys: tuple[str, ...],
    measure: Measure,
    players: tuple[MakePlayer, ...],
    games: int,
    needs: tuple[str, ...] = (),
    games_of: str = "",
    run: bool = True,
) -> MatchPart:
    """A match; `games_of` is the match with the same games, and `run` whether networks of the run play."""
    return MatchPart(
        name=f"{name}-{repeat}",
        keys=keys,
        game=game_id(scale),
        players=players,
        games=games,
        measure=measure,
        match_seed=part_seed(seed, repeat, games_of or name),
        opening_moves=2 if scale.tiny else 2 * SEATS,  # two random moves each
        seed=repeat,
        needs=(f"train-published-{repeat}",) * run + needs,
        cost=2.0,
    )
