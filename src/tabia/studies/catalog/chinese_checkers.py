"""Three-player Chinese checkers: versions, opponents, search, seats and loops (Schulte 2021, chapter 9 and 7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tabia.evaluation import Record, match_result
from tabia.evaluation.illegal import illegal_share
from tabia.games import make
from tabia.games.game import Game
from tabia.games.session import Session
from tabia.players import runs
from tabia.studies.estimates import Estimate, average, exact, spanning
from tabia.studies.matches import MakePlayer, MatchPart, spec, trained, version
from tabia.studies.part import Measurement, Outcome, Part, Place, part_seed
from tabia.studies.pictures import board_pictures
from tabia.studies.plots import Curve, Figure, SeriesCurve
from tabia.studies.study import Scale, Source, Study
from tabia.studies.trainings import TINY, TINY_RECIPE, TINY_SEARCH, Lines, TrainingPart
from tabia.studies.verdicts import Published, ordering, trend

RECIPE, SEATS = "schulte-chinese-checkers", 3
VARIANTS: dict[str, tuple[tuple[str, Any], ...]] = {
    "published": (),
    "no loop cutting": (("search.cut_loops", False), ("search.cut_loops_history", False)),
    "c too low": (("search.c", 1.0),),
    "c too high": (("search.c", 100.0),),
}
"""Changes of the recipe; its c is 10, which is 15 on Schulte's scale of scores."""
VERSIONS = 5  # evenly spaced over training, of which the first is the untrained network
ACCEPTED, SESSIONS = "accepted versions", "sessions"
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
    changes: tuple[tuple[str, Any], ...] = ()
    tiny: bool = False


SCALES = (
    CheckersScale(
        name="tiny",
        about="tic-tac-toe, two iterations",
        games=2,
        network_games=4,
        simulations=4,
        versions=(4,),
        variants=("published",),
        tiny=True,
    ),
    CheckersScale(
        name="quick",
        about="60 games of Initialize and 2 sessions of 20 games, 8 simulations, 6 games per match",
        games=6,
        network_games=12,
        simulations=8,
        versions=(0, 4),
        variants=("published",),
        changes=(
            ("games", 100),
            ("selfplay.games", 10),
            ("selfplay.plies", 150),
            ("selfplay.teacher_games", 60),
            ("search.simulations", 8),
            ("replay.min_positions", 500),
            ("learner.epochs", 1),
        ),
    ),
    CheckersScale(
        name="full",
        about="2 runs as published, one without loop cutting, with c too low and too high; 120 games per match",
        games=120,
        network_games=480,
        seeds=2,
        values=True,
        trends=True,
    ),
)


def _score(kind: str, index: int) -> str:
    return f"{kind}, version {index} of {VERSIONS - 1}: score"


def _sole(kind: str, index: int, alone: bool) -> str:
    return f"{kind}, version {index}, {'1 against 2' if alone else '2 against 1'}: points"


def _slug(text: str) -> str:
    return text.lower().replace(" ", "-")


def _placed(kind: str, seat: int) -> str:
    return f"{kind}, seat {seat + 1}: points"


SEARCH_SCORE, SEARCH_ALONE = "agent against network: score", "agent against network, alone: points"


def _accepted(lines: Lines) -> tuple[Estimate, ...]:
    gated = [line for line in lines if "gate_passed" in line]
    found = sum(bool(line["gate_passed"]) for line in gated) + 1  # the version after the teacher's games
    return exact(ACCEPTED, found, "versions"), exact(SESSIONS, len(gated) + 1, "sessions")


def _length_key(variant: str) -> str:
    return f"{variant}: moves per game"


def _lengths(variant: str) -> Any:
    def measure(lines: Lines) -> tuple[Estimate, ...]:
        lengths = [line["game_length"] for line in lines if "game_length" in line][-5:]
        lengths = lengths * 2 if len(lengths) == 1 else lengths
        found = average(_length_key(variant), lengths, "moves")
        return (*(_accepted(lines) if variant == "published" else ()), found)

    return measure


def _parts(scale: CheckersScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        found += [_training(scale, seed, repeat, variant) for variant in scale.variants]
        for kind in KINDS:
            found += [_against_greedy(scale, seed, repeat, kind, index) for index in scale.versions]
        found += [_search_against_network(scale, seed, repeat), _illegal(scale, seed, repeat)]
        if not scale.tiny:
            found += [_seats(scale, seed, repeat, kind) for kind in (GREEDY, "network")]
        found += [_final_match(scale, seed, repeat, variant) for variant in scale.variants if variant != "published"]
    return found


def _training(scale: CheckersScale, seed: int, repeat: int, variant: str) -> TrainingPart:
    counts = (ACCEPTED, SESSIONS) if variant == "published" else ()
    return TrainingPart(
        name=f"train-{_slug(variant)}-{repeat}",
        recipe=TINY_RECIPE if scale.tiny else RECIPE,
        run_seed=part_seed(seed, repeat, "train"),
        changes=TINY if scale.tiny else (*scale.changes, *VARIANTS[variant]),
        curves=("loss_policy", "loss_value", "game_length"),
        keys=(*counts, _length_key(variant)),
        measure=_lengths(variant),
        seed=repeat,
        cost=50.0,
    )


def _player(scale: CheckersScale, run: str, kind: str, index: int | None = None) -> MakePlayer:
    """A version of a run, with search or without; the first two moves of every player are random."""
    search = f"simulations={scale.simulations},rule=puct,c=10,own_visit=false,winning_moves_first=false"
    options = ",".join([TINY_SEARCH if scale.tiny else search] * (kind == "agent"))
    if index is None:
        return trained(run, options, player=KINDS[kind])
    return version(run, index, VERSIONS, options, player=KINDS[kind])


def _game(scale: CheckersScale) -> str:
    return "tictactoe" if scale.tiny else "chinese-checkers"


def _opponent(scale: CheckersScale) -> MakePlayer:
    return spec("random" if scale.tiny else GREEDY)


def points(records: Sequence[Record], player: str, alone: bool) -> list[float]:
    """The points per seat of a player in the games in which it has one seat, or all but one."""
    held = [record for record in records if (record.players.count(player) == 1) == alone]
    return [record.scores[seat] for record in held for seat, name in enumerate(record.players) if name == player]


def _score_of(key: str, game: Game, records: Sequence[Record], name: str) -> Estimate:
    one = next(result for result in match_result(game, records).players if result.name == name)
    low, high = min(one.low, one.score), max(one.high, one.score)
    return Estimate(key, 100 * one.score, 100 * low, 100 * high, "% of points", one.games)


def _against_greedy(scale: CheckersScale, seed: int, repeat: int, kind: str, index: int) -> MatchPart:
    keys = (_score(kind, index), _sole(kind, index, True), _sole(kind, index, False))

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        score = _score_of(keys[0], game, records, names[0])
        alone, double = (points(records, names[0], one) or [0.0, 0.0] for one in (True, False))
        return Outcome((score, average(keys[1], alone, "points"), average(keys[2], double, "points")))

    return _match(
        scale, seed, repeat, f"{kind}-{index}-against-greedy", keys, measure,
        (_player(scale, f"train-published-{repeat}", kind, index), _opponent(scale)),
        games=scale.games if kind == "agent" else scale.network_games,
    )  # fmt: skip


def _search_against_network(scale: CheckersScale, seed: int, repeat: int) -> MatchPart:
    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        alone = points(records, names[0], True)
        return Outcome((_score_of(SEARCH_SCORE, game, records, names[0]), average(SEARCH_ALONE, alone, "points")))

    run = f"train-published-{repeat}"
    return _match(
        scale, seed, repeat, "agent-against-network", (SEARCH_SCORE, SEARCH_ALONE), measure,
        (_player(scale, run, "agent"), _player(scale, run, "network")), games=scale.games,
    )  # fmt: skip


def _seats(scale: CheckersScale, seed: int, repeat: int, kind: str) -> MatchPart:
    """Points by seat in games of one player against itself."""
    keys = tuple(_placed(kind, seat) for seat in range(SEATS))

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        return Outcome(
            tuple(average(key, [record.scores[seat] for record in records], "points") for seat, key in enumerate(keys))
        )

    player = _opponent(scale) if kind == GREEDY else _player(scale, f"train-published-{repeat}", kind)
    return _match(scale, seed, repeat, f"seats-{kind}", keys, measure, (player,) * SEATS, games=scale.network_games)


def _illegal_key(last: bool) -> str:
    return f"illegal share, {'last' if last else 'first'} version"


def _illegal(scale: CheckersScale, seed: int, repeat: int) -> Measurement:
    """How much probability the first and the last trained version give to illegal moves; the opening as a picture."""
    run, keys = f"train-published-{repeat}", (_illegal_key(False), _illegal_key(True))

    def measure(place: Place) -> Outcome:
        game = make(_game(scale))
        steps = list(runs.steps(place.folder_of(run) / "weights"))
        players = [trained(run, player="network", step=str(step))(game, place) for step in (steps[1], steps[-1])]
        found = [
            average(key, [_illegal_percent(player, scale.network_games // 4, number) for number in range(4)], "%")
            for key, player in zip(keys, players, strict=True)
        ]
        return Outcome(tuple(found), pictures=board_pictures(players[-1], {"the opening": Session.start(game)}))

    return Measurement(name=f"illegal-{repeat}", keys=keys, measure=measure, seed=repeat, needs=(run,), cost=2.0)


def _illegal_percent(player: Any, games: int, seed: int) -> float:
    return 100 * illegal_share(player, games=games, seed=seed).share


def _final(variant: str) -> str:
    return f"{variant}: score against the published"


def _final_match(scale: CheckersScale, seed: int, repeat: int, variant: str) -> MatchPart:
    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        return Outcome((_score_of(_final(variant), game, records, names[0]),))

    other = f"train-{_slug(variant)}-{repeat}"
    return _match(
        scale, seed, repeat, f"{_slug(variant)}-against-published", (_final(variant),), measure,
        (_player(scale, other, "agent"), _player(scale, f"train-published-{repeat}", "agent")),
        games=scale.games, needs=(other,),
    )  # fmt: skip


def _match(
    scale: CheckersScale,
    seed: int,
    repeat: int,
    name: str,
    keys: tuple[str, ...],
    measure: Any,
    players: tuple[MakePlayer, ...],
    *,
    games: int,
    needs: tuple[str, ...] = (),
) -> MatchPart:
    return MatchPart(
        name=f"{name}-{repeat}",
        keys=keys,
        game=_game(scale),
        players=players,
        games=games,
        measure=measure,
        match_seed=part_seed(seed, repeat, name),
        opening_moves=2 if scale.tiny else 2 * SEATS,  # two random moves each
        seed=repeat,
        needs=(f"train-published-{repeat}", *needs),
        cost=2.0,
    )


STUDY = Study(
    name="chinese-checkers",
    version=1,
    question="How strong does a three-player agent become, and what do search, seats, loop cutting and exploration do?",
    source=Source("Schulte 2021", "chapter 9"),
    scales=SCALES,
    parts=_parts,
    combine=spanning,
    published=(
        Published(ACCEPTED, 20, "figure 9.0.64"),
        Published(SESSIONS, 41, "figure 9.0.64"),
        Published(_illegal_key(False), 3.5, "section 9.5", 3.0, 4.0),  # "less than 4%"
        Published(_illegal_key(True), 0.45, "section 9.5"),
    ),
    claims=(
        trend("The agent improves against Greedy", "figure 9.2.67", keys=[_score("agent", n) for n in range(VERSIONS)]),
        trend("The network does", "figure 9.2.68", keys=[_score("network", n) for n in range(VERSIONS)]),
        ordering(
            "The agent has more points per seat 2 against 1 than 1 against 2",
            "section 9.2",
            higher=_sole("agent", VERSIONS - 1, False),
            lower=_sole("agent", VERSIONS - 1, True),
        ),
        ordering(
            "Seat 1 is better than seat 3 for the network",
            "section 9.6",
            higher=_placed("network", 0),
            lower=_placed("network", 2),
        ),
        ordering(
            "Seat 1 is worse than seat 3 for Greedy", "section 9.6", higher=_placed(GREEDY, 2), lower=_placed(GREEDY, 0)
        ),
    ),
    figures=(
        Figure(
            name="versions",
            title="Accepted versions and sessions (figure 9.0.64)",
            x="",
            y="count",
            curves=(Curve("count", (("versions", ACCEPTED), ("sessions", SESSIONS))),),
            joined=False,
        ),
        Figure(
            name="greedy",
            title="Score against Greedy over training (figures 9.2.67 and 9.2.68)",
            x="version, from the untrained network to the last",
            y="score, % of points",
            curves=tuple(Curve(kind, tuple((n, _score(kind, n)) for n in range(VERSIONS))) for kind in KINDS),
            y_range=(-3, 103),
        ),
        Figure(
            name="alone",
            title="Points per seat against Greedy, 1 against 2 and 2 against 1 (section 9.2)",
            x="version, from the untrained network to the last",
            y="points per seat and game, 0 to 3",
            curves=tuple(
                Curve(
                    f"{kind}, {'1 against 2' if alone else '2 against 1'}",
                    tuple((n, _sole(kind, n, alone)) for n in range(VERSIONS)),
                )
                for kind in KINDS
                for alone in (True, False)
            ),
        ),
        Figure(
            name="illegal",
            title="Probability that the network gives to illegal moves (figure 9.5.70)",
            x="version",
            y="% of the probability",
            curves=(Curve("illegal moves", (("first", _illegal_key(False)), ("last", _illegal_key(True)))),),
            joined=False,
        ),
        Figure(
            name="seats",
            title="Points by seat (section 9.6)",
            x="seat",
            y="points per game, 0 to 3",
            curves=tuple(
                Curve(kind, tuple((f"{seat + 1}", _placed(kind, seat)) for seat in range(SEATS)))
                for kind in (GREEDY, "network")
            ),
            joined=False,
        ),
        Figure(
            name="lengths",
            title="Length of games of self-play",
            x="games of self-play",
            y="moves per game",
            series=tuple(
                SeriesCurve(variant, f"train-{_slug(variant)}-{repeat}/game_length")
                for variant in VARIANTS
                for repeat in (0,)
            ),
        ),
        Figure(
            name="variants",
            title="Score of other settings against the published ones (section 7.3)",
            x="setting",
            y="score, % of points; 50 is no difference",
            curves=(Curve("score", tuple((v, _final(v)) for v in VARIANTS if v != "published")),),
            joined=False,
        ),
    ),
    notes=(
        "The thesis shows plots without numbers. Here the games start with two random moves of each player, as there. "
        "Accepted versions include the one after the games of the Initialize agent. Two people were opponents in the "
        "thesis (section 9.3); that part cannot be repeated by a program.",
    ),
)
