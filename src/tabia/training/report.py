"""A run's report: report.md and its figures, from nothing but the run directory.

write_report(RunDirectory(Path("runs/connect4")))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tabia.core.text import markdown, markdown_code, shorten
from tabia.games.errors import TabiaError
from tabia.games.game import Game
from tabia.networks.summary import counts, trunk
from tabia.training import figures, machine, metrics, samples, series
from tabia.training.config import Config
from tabia.training.directory import RunDirectory
from tabia.training.figures import FIGURES
from tabia.training.plan import Plan
from tabia.training.rated import Rated, Tell, rated
from tabia.training.series import Line

REPORT = "report.md"
_ROWS = 10  # of a table
_LATEST = 20  # cycles that "latest" is the mean of


@dataclass(frozen=True)
class Found:
    """Everything a report is made of."""

    run: RunDirectory
    config: Config
    game: Game
    lines: list[Line]
    figures: dict[str, Path]
    rated: Rated | str  # or why there are no ratings


def write_report(
    run: RunDirectory, *, rate: bool = True, tell: Tell = lambda done, whole: None, game: str | None = None
) -> Path:
    """Write report.md and figures/.

    `game` is the game's id if that is a Python file, which is run only for a caller who names it.
    `rate` lets the checkpoints play each other for ratings, which takes a while; `tell` hears how far that is.
    """
    config = run.config(game=game, command="report")
    plan = Plan(config)
    lines = [line for line in metrics.read(run) if line.get("board", config.game) == config.game]  # the first board's
    ratings: Rated | str = _rated(run, plan, tell) if rate else "Ratings were not asked for."
    drawn: dict[str, Path] = {}
    if figures.available():
        drawn = figures.draw(run, plan.game, config, lines)
        if isinstance(ratings, Rated):
            drawn["ratings"] = run.make_folder(run.path / FIGURES) / "ratings.svg"
            with figures.style():
                ratings.draw(drawn["ratings"])
    text = compose(Found(run, config, plan.game, lines, drawn, ratings), network=_network(plan))
    run.write(run.path / REPORT, text.encode())
    return run.path / REPORT


def compose(found: Found, *, network: str) -> str:
    """The report's text."""
    parts = [f"# A run of {markdown(found.config.game)}", _about(found, network)]
    if not found.lines:
        parts.append("No cycle was finished yet, so there is nothing to report.")
        return "\n\n".join(parts) + "\n"
    if not figures.available():
        parts.append("Figures need matplotlib: `pip install 'tabia[plots]'`, then write the report again.")
    parts += ["## Where it stands", _latest(found), *_strength(found), *_selfplay(found), *_learning(found)]
    parts += samples.section(found.run, found.game)
    return "\n\n".join(part for part in parts if part) + "\n"


# The parts of the text.


def _about(found: Found, network: str) -> str:
    config, game = found.config, found.game
    last = found.lines[-1] if found.lines else {"cycle": 0, "seconds": 0.0, "total_games": 0, "positions": 0}
    planned = f"{config.minutes:g} minutes" if config.minutes else f"{config.cycles:,} cycles"
    rows = [
        ("game", markdown(f"{game.id}, version {game.version}: {game.title}")),
        ("recipe, seed", markdown(f"{config.recipe}, {config.seed}")),
        ("length", f"{last['cycle']:,} cycles in {last['seconds'] / 60:.1f} minutes of wall clock; planned: {planned}"),
        ("played", f"{last['total_games']:,} games, {last['positions']:,} positions"),
        ("search", f"{config.search.rule}, {config.search.simulations} simulations a move"),
        ("network", network),
        *_machines(found.run),
    ]
    return _table(("", ""), rows) + "\n\nAll settings are in [config.toml](config.toml)."


def _machines(run: RunDirectory) -> list[tuple[str, str]]:
    rows = []
    for entry in machine.read(run):
        since = f", from cycle {entry['from_cycle']:,}" if entry["from_cycle"] else ""
        versions = ", ".join(f"{name} {version}" for name, version in entry["versions"].items())
        commit = f", commit {entry['commit']}" if entry.get("commit") else ""
        device = f"{entry.get('device')} on {entry.get('processor')}, {entry.get('cores')} cores"
        software = f"Python {entry.get('python')}, {versions}{commit}"
        rows += [(f"device{since}", markdown(shorten(device, 500))), ("versions", markdown(shorten(software, 500)))]
    return rows


def _latest(found: Found) -> str:
    """The newest numbers: means of the last cycles, and the last evaluation."""
    newest = found.lines[-_LATEST:]

    def mean(name: str, form: str, *, times: float = 1.0) -> str:
        held = series.curve(newest, name)
        return format(times * float(held.values.mean()), form) if held else "-"

    seat = series.first_seat(newest)
    rows = [
        ("policy loss, beyond the target's entropy", mean("loss_policy", ".4f")),
        ("value loss", mean("loss_value", ".4f")),
        ("entropy of the network's policy, nats", mean("entropy", ".3f")),
        ("entropy of the target, nats", mean("target_entropy", ".3f")),
        ("length of a game, moves", mean("length", ".1f")),
        ("first seat's score, -1 to 1", f"{seat.values.mean():+.3f}" if seat else "-"),
        ("drawn games", mean("draws", ".1%")),
        ("moves that were the network's favourite", mean("agrees", ".1%")),
        ("the network's probability of the move played", mean("prior", ".3f")),
    ]
    for opponent, games in series.matches(found.lines).items():
        rows.append(
            (f"share of the points against {markdown_code(opponent)}, cycle {games[-1]['cycle']:,}", _share(games[-1]))
        )
    for name, words in (("keeps_network", "network alone"), ("keeps_searched", "with search")):
        held = [line for line in found.lines if name in line]
        if held:
            rows.append((f"moves that keep the value, {words}, cycle {held[-1]['cycle']:,}", f"{held[-1][name]:.1%}"))
    count = len(newest)
    note = f"Means over the last {count} cycles." if count > 1 else ""
    return "\n\n".join(part for part in (_table(("", "latest"), rows, right=1), note) if part)


def _strength(found: Found) -> list[str]:
    parts = ["## Strength", *_ratings(found)]
    played = series.matches(found.lines)
    if played:
        words = "Matches against fixed opponents, from varied openings, each in every seating."
        rows = [(f"{line['cycle']:,}", *(_share(_at(games, line["cycle"])) for games in played.values()))
                for line in series.spread([line for line in found.lines if "matches" in line], _ROWS)]  # fmt: skip
        headings = ("cycle", *(f"against {markdown_code(opponent)}" for opponent in played))
        parts += [
            "### Against fixed opponents",
            words,
            _figure(found, "matches"),
            _table(headings, rows, right=len(played)),
        ]
    known = [line for line in found.lines if "keeps_network" in line]
    if known:
        words = (
            f"How often the move chosen keeps the position's value, on {found.config.evaluation.positions} positions."
        )
        rows = [(f"{line['cycle']:,}", f"{line['keeps_network']:.1%}", _number(line.get("keeps_searched"), ".1%"))
                for line in series.spread(known, _ROWS)]  # fmt: skip
        table = _table(("cycle", "network alone", "with search"), rows, right=2)
        parts += ["### Agreement with perfect play", words, _figure(found, "perfect"), table]
    return parts


def _ratings(found: Found) -> list[str]:
    if isinstance(found.rated, str):
        return [found.rated]
    held = found.rated
    how = f"with {held.simulations} simulations a move" if held.simulations else "by the network alone"
    words = f"From {held.games} different games among checkpoints, {how}; the first of them is rated 0."
    rows = [
        (f"{cycle:,}", f"{elo:+.0f}", "fixed" if not error else f"± {error:.0f}")
        for cycle, elo, error in zip(held.cycles, held.elo, held.error, strict=True)
    ]
    return ["### Ratings over time", words, _figure(found, "ratings"), _table(("cycle", "Elo", "95%"), rows, right=2)]


def _selfplay(found: Found) -> list[str]:
    seen = "How often the move played was the network's own favourite, and how likely the network alone held it."
    rows = [
        (f"{line['cycle']:,}", _number(line.get("length"), ".1f"), _number((line.get("scores") or [None])[0], "+.2f"),
         _number(line.get("draws"), ".0%"), _number(line.get("agrees"), ".1%"), _number(line.get("prior"), ".3f"))
        for line in series.spread(found.lines, _ROWS)
    ]  # fmt: skip
    headings = ("cycle", "length, moves", "first seat's score", "drawn", "favourite played", "its prior")
    parts = ["## Self-play", _figure(found, "games"), _table(headings, rows, right=5)]
    if "openings" in found.figures:
        parts += ["### Opening moves", "Of games that began at the start.", _figure(found, "openings")]
    return [*parts, "### Prior and move played", seen, _figure(found, "agreement")]


def _learning(found: Found) -> list[str]:
    learned = [line for line in found.lines if "loss_policy" in line]
    if not learned:
        return ["## Learning", "Learning had not begun: the replay was still filling."]
    columns = dict(_LEARNED)
    if found.config.network.last_board:
        columns |= _BOARD
    if not found.config.learner.mask_illegal:
        columns |= _ILLEGAL
    rows = [
        tuple([f"{line['cycle']:,}"] + [_number(line.get(name), form) for name, form in columns.values()])
        for line in series.spread(learned, _ROWS)
    ]
    entropy = (
        "Entropy of the network's policy and of what it is taught; a network that collapses to one move shows here."
    )
    return ["## Learning", "Losses; 0 would be perfect for the policy.", _figure(found, "losses"),
            _table(("cycle", *columns), rows, right=len(columns)), entropy, _figure(found, "entropy")]  # fmt: skip


_LEARNED = {
    "policy loss": ("loss_policy", ".4f"), "value loss": ("loss_value", ".4f"), "entropy": ("entropy", ".3f"),
    "target's entropy": ("target_entropy", ".3f"), "learning rate": ("rate", ".1e"),
}  # fmt: skip
_BOARD = {"loss of the last position": ("loss_board", ".4f")}
_ILLEGAL = {"given to illegal moves": ("illegal", ".2%")}  # S3's measure; it tells something where they are taught


# Pieces of text.


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: int = 0) -> str:
    """A table in Markdown, its last `right` columns aligned to the right."""
    left = len(headings) - right
    rule = "|" + "---|" * left + "---:|" * right
    return "\n".join([_row(headings), rule, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\|", cell) for cell in cells) + " |"


def _figure(found: Found, name: str) -> str:
    return f"![{name}]({FIGURES}/{found.figures[name].name})" if name in found.figures else ""


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _share(side: Line | None) -> str:
    return "-" if side is None else f"{side['share']:.1%} ({side['low']:.1%} to {side['high']:.1%})"


def _at(games: Sequence[Line], cycle: int) -> Line | None:
    return next((game for game in games if game["cycle"] == cycle), None)


def _rated(run: RunDirectory, plan: Plan, tell: Tell) -> Rated | str:
    """Ratings of the checkpoints as evaluations let them play, or why there are none."""
    try:
        return rated(run, plan.game, simulations=plan.config.evaluation.simulations, tell=tell)
    except TabiaError as error:
        return f"No ratings: {markdown(str(error))}"


def _network(plan: Plan) -> str:
    return f"{trunk(plan.config.network)}; {counts(plan.network).trainable:,} weights"
