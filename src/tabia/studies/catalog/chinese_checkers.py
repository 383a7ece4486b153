"""Three-player Chinese checkers: versions, opponents, search, seats and loops (Schulte 2021, chapter 9 and 7.3)."""

from __future__ import annotations

from collections.abc import Sequence

from tabia.studies.estimates import spanning
from tabia.studies.part import Part
from tabia.studies.parts.checkers import (
    ACCEPTED,
    ACCEPTED_SHARE,
    GREEDY,
    KINDS,
    SEATS,
    SESSIONS,
    VARIANTS,
    VERSIONS,
    CheckersScale,
    against_greedy,
    against_previous,
    final_match,
    points_key,
    previous_keys,
    score_key,
    slug,
    training,
    variant_key,
)
from tabia.studies.parts.checkers_positions import (
    ILLEGAL,
    illegal,
    illegal_by_version,
    illegal_key,
    opening,
    value_key,
)
from tabia.studies.parts.checkers_seats import (
    NETWORK_ALONE,
    NETWORK_DOUBLE,
    PLACES,
    SEARCH_ALONE,
    SEARCH_DOUBLE,
    place_key,
    places,
    search_against_network,
    search_by_seats,
    seat_key,
    seats,
)
from tabia.studies.parts.checkers_versions import (
    GAMES_BEFORE,
    PUBLISHED_SESSIONS,
    accepted_by,
    accepted_key,
    versions,
)
from tabia.studies.plots import PERCENT, Curve, Figure, SeriesCurve
from tabia.studies.study import Source, Study
from tabia.studies.verdicts import Published, count_of_a_run, ordering, published_count, trend

COUNTED = (5, 10, 15, 20, 25, 30)  # sessions after which accepted versions are counted; every run lasts longer
LATER = range(1, VERSIONS)  # versions with one before them
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
        about="as published, and ten sessions without loop cutting, with c too low and too high; 120 games per match",
        games=120,
        network_games=480,
        sessions=COUNTED,
        changes=(("selfplay.games", 200), ("selfplay.plies", 75)),  # as many moves per session, in less time on a GPU
        seeds=2,
        values=True,
        trends=True,
    ),
)


def _parts(scale: CheckersScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        found += [training(scale, seed, repeat, variant) for variant in scale.variants]
        found.append(versions(scale, repeat))
        for kind in KINDS:
            found += [against_greedy(scale, seed, repeat, kind, index) for index in scale.versions]
            found += [against_previous(scale, seed, repeat, kind, index) for index in scale.versions if index]
        found += [search_against_network(scale, seed, repeat), search_by_seats(scale, seed, repeat)]
        found += [illegal(scale, seed, repeat), illegal_by_version(scale, repeat)]
        if not scale.tiny:
            found += [seats(scale, seed, repeat, kind) for kind in (GREEDY, "network")]
        found += [places(scale, seed, repeat, kind) for kind in (GREEDY, "network")]
        found.append(opening(scale, repeat))
        found += [final_match(scale, seed, repeat, variant) for variant in scale.variants if variant != "published"]
    return found


STUDY = Study(
    name="chinese-checkers",
    version=3,
    question="How strong does a three-player agent become, and what do search, seats, loop cutting and exploration do?",
    source=Source("Schulte 2021", "chapter 9"),
    scales=SCALES,
    parts=_parts,
    combine=spanning,
    published=(
        count_of_a_run(ACCEPTED, 20, "figure 9.0.64"),
        count_of_a_run(SESSIONS, 41, "figure 9.0.64"),
        *(
            count_of_a_run(accepted_key(last), accepted_by(PUBLISHED_SESSIONS, last), "figure 9.0.64")
            for last in COUNTED
        ),
        published_count(ACCEPTED_SHARE, 19, 40, "figure 9.0.64"),
        Published(illegal_key(False), 3.5, "section 9.5", 3.0, 4.0),  # "less than 4%"
        Published(illegal_key(True), 0.45, "section 9.5"),
    ),
    claims=(
        trend(
            "The agent improves against Greedy", "figure 9.2.67", keys=[score_key("agent", n) for n in range(VERSIONS)]
        ),
        trend("The network does", "figure 9.2.68", keys=[score_key("network", n) for n in range(VERSIONS)]),
        ordering(
            "The agent has more points per seat 2 against 1 than 1 against 2",
            "section 9.2",
            higher=points_key("agent", VERSIONS - 1, False),
            lower=points_key("agent", VERSIONS - 1, True),
        ),
        ordering(
            "Seat 1 is better than seat 3 for the network",
            "section 9.6",
            higher=seat_key("network", 0),
            lower=seat_key("network", 2),
        ),
        ordering(
            "The value of the start is higher for seat 1 than for seat 3",
            "figure 9.6.71",
            higher=value_key(0),
            lower=value_key(2),
        ),
        ordering(
            "Seat 1 is worse than seat 3 for Greedy",
            "section 9.6",
            higher=seat_key(GREEDY, 2),
            lower=seat_key(GREEDY, 0),
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
            name="versions-after",
            title="Accepted versions over training (figure 9.0.64)",
            x="sessions",
            y="accepted versions",
            curves=(Curve("accepted versions", tuple((last, accepted_key(last)) for last in COUNTED)),),
        ),
        Figure(
            name="games-before",
            title="Games of self-play before each version (figure 9.0.64)",
            x="version",
            y="games, with those of the Initialize agent",
            series=(SeriesCurve("games before the version", GAMES_BEFORE),),
        ),
        Figure(
            name="accepted",
            title="How often a session ended in an accepted version (figure 9.0.64)",
            x="",
            y="% of sessions",
            curves=(Curve("accepted", (("after the first session", ACCEPTED_SHARE),)),),
            joined=False,
            y_range=PERCENT,
        ),
        Figure(
            name="greedy",
            title="Score against Greedy over training (figures 9.2.67 and 9.2.68)",
            x="version, from the untrained network to the last",
            y="score, % of points",
            curves=tuple(Curve(kind, tuple((n, score_key(kind, n)) for n in range(VERSIONS))) for kind in KINDS),
            y_range=PERCENT,
        ),
        Figure(
            name="alone",
            title="Points per seat against Greedy, 1 against 2 and 2 against 1 (section 9.2)",
            x="version, from the untrained network to the last",
            y="points per seat and game, 0 to 3",
            curves=tuple(
                Curve(
                    f"{kind}, {'1 against 2' if alone else '2 against 1'}",
                    tuple((n, points_key(kind, n, alone)) for n in range(VERSIONS)),
                )
                for kind in KINDS
                for alone in (True, False)
            ),
        ),
        Figure(
            name="previous",
            title="Score against the version before (figures 9.1.65 and 9.1.66)",
            x="version, from the untrained network to the last",
            y="score, % of points; 50 is no difference",
            curves=tuple(Curve(kind, tuple((n, previous_keys(kind, n)[0]) for n in LATER)) for kind in KINDS),
        ),
        Figure(
            name="previous-alone",
            title="Points per seat against the version before (figures 9.1.65 and 9.1.66)",
            x="version, from the untrained network to the last",
            y="points per seat and game, 0 to 3",
            curves=tuple(
                Curve(f"{kind}, {label}", tuple((n, previous_keys(kind, n)[which]) for n in LATER))
                for kind in KINDS
                for which, label in ((1, "1 against 2"), (2, "2 against 1"))
            ),
        ),
        Figure(
            name="search",
            title="Search against the network alone (figure 9.4.69)",
            x="seats held",
            y="points per seat and game, 0 to 3",
            curves=(
                Curve("agent with search", (("1 against 2", SEARCH_ALONE), ("2 against 1", SEARCH_DOUBLE))),
                Curve("network alone", (("1 against 2", NETWORK_ALONE), ("2 against 1", NETWORK_DOUBLE))),
            ),
            joined=False,
        ),
        Figure(
            name="start",
            title="Value of the start by seat (figure 9.6.71)",
            x="seat",
            y="value, -1 to 1",
            curves=(Curve("network", tuple((f"{seat + 1}", value_key(seat)) for seat in range(SEATS))),),
            joined=False,
        ),
        Figure(
            name="illegal",
            title="Probability that the network gives to illegal moves (figure 9.5.70)",
            x="version",
            y="% of the probability",
            curves=(Curve("illegal moves", (("first", illegal_key(False)), ("last", illegal_key(True)))),),
            joined=False,
        ),
        Figure(
            name="illegal-by-version",
            title="Probability that the network gives to illegal moves, by version (figure 9.5.70)",
            x="version",
            y="% of the probability",
            series=(SeriesCurve("illegal moves", ILLEGAL),),
        ),
        *(
            Figure(
                name=f"places-{slug(kind)}",
                title=f"Places by seat in games of {title} (figure 9.6.70)",
                x="seat",
                y="% of games",
                curves=tuple(
                    Curve(
                        f"{word} place",
                        tuple((f"{seat + 1}", place_key(kind, seat, place)) for seat in range(SEATS)),
                    )
                    for place, word in enumerate(PLACES)
                ),
                joined=False,
            )
            for kind, title in ((GREEDY, "Greedy"), ("network", "the network"))
        ),
        Figure(
            name="seats",
            title="Points by seat (section 9.6)",
            x="seat",
            y="points per game, 0 to 3",
            curves=tuple(
                Curve(kind, tuple((f"{seat + 1}", seat_key(kind, seat)) for seat in range(SEATS)))
                for kind in (GREEDY, "network")
            ),
            joined=False,
        ),
        Figure(
            name="lengths",
            title="Length of games of self-play",
            x="games of self-play",
            y="moves per game",
            series=tuple(SeriesCurve(variant, f"train-{slug(variant)}-0/game_length") for variant in VARIANTS),
        ),
        Figure(
            name="variants",
            title="Score of other settings against the published ones after ten sessions (section 7.3)",
            x="setting",
            y="score, % of points; 50 is no difference",
            curves=(Curve("score", tuple((v, variant_key(v)) for v in VARIANTS if v != "published")),),
            joined=False,
        ),
    ),
    notes=(
        "The thesis shows plots without numbers. Here the games start with two random moves of each player, as there. "
        "Accepted versions include the one after the games of the Initialize agent. Two people were opponents in the "
        "thesis (section 9.3); that part cannot be repeated by a program. The version before is the one accepted just "
        "before. The two examples (section 9.7) are positions of the network's games against itself: the middle of "
        "one, and one in which the last seat can jump and the others can least. The other settings of section 7.3 "
        "train for ten sessions and meet the published ones after as many. All 200 games of a session are played at "
        "once, where the thesis plays 50 at a time; so a game may begin in one session and end in the next.",
        "A session is 15,000 moves, which are 200 games of 75 moves. Later games are shorter, so a session holds up to "
        "270 of them, and the 8,500 games of the thesis end after fewer sessions. The published numbers of versions "
        "after some sessions come from the author's code. A count of one run does not say where another run would "
        "land, so counts are compared from two seeds on, with their range.",
        "Sections 9.1 and 9.2 are measured with five networks of each run: the untrained one, version 0, and four "
        "accepted versions, evenly spaced; the thesis shows all twenty. The rows named number in training say which "
        "ones they are. In the first seed at full scale they are the versions 4, 8, 13 and 17, which were accepted "
        "after sessions 4, 10, 22 and 35.",
        "In two points the runs of this study do not follow the thesis, because the first seed was trained before the "
        "recipe did, and all runs of a study must be trained alike. In the gate of the thesis, and of the recipe, the "
        "first five moves of each player are sampled; here a game starts with at least four random moves. The thesis "
        "and the recipe play any of the moves with the most visits; here self-play and the gate take the first. "
        "Players in matches take any of them; those of the first seed took the first.",
        'The thesis says that the first version gives "less than 4%" to illegal moves; the value of 3.5% with an '
        "interval from 3% to 4% is our reading. Seats with equal scores share the better place.",
    ),
)
