"""A run's report: report.md and its figures, from nothing but the run directory.

write_report(RunDirectory(Path("runs/connect4")))
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tabia.core.errors import TabiaError
from tabia.core.text import markdown, shorten
from tabia.games.game import Game
from tabia.networks.summary import counts, trunk
from tabia.training.config.schema import Config
from tabia.training.plan import Plan
from tabia.training.report import figures, series, strength, strength_section
from tabia.training.report.figures import FIGURES
from tabia.training.report.markdown import number, table
from tabia.training.report.rated import Rated, Tell, rated
from tabia.training.report.series import Curve, Line
from tabia.training.report.strength import Strength
from tabia.training.run import machine, metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.selfplay import samples

REPORT = "report.md"
_ROWS = 10  # of a table
_RECENT = 20  # iterations of a recent mean


@dataclass(frozen=True)
class Found:
    """Everything a report is made of."""

    run: RunDirectory
    config: Config
    game: Game
    lines: list[Line]  # of the first board
    evaluations: list[Strength]
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
    every = metrics.read(run)
    lines, evaluations = (
        [line for line in every if line.get("board", config.game) == config.game],
        strength.measured(every),
    )
    ratings: Rated | str = _rated(run, plan, tell) if rate else "Ratings were not asked for."
    drawn: dict[str, Path] = {}
    if figures.available():
        drawn = figures.draw(run, plan.game, config, lines, evaluations)
        if isinstance(ratings, Rated):
            drawn["ratings"] = run.make_folder(run.path / FIGURES) / "ratings.svg"
            with figures.style():
                ratings.draw(drawn["ratings"])
    text = compose(Found(run, config, plan.game, lines, evaluations, drawn, ratings), network=_network(plan))
    run.write(run.path / REPORT, text.encode())
    return run.path / REPORT


def compose(found: Found, *, network: str) -> str:
    """The report's text."""
    parts = [f"# A run of {markdown(found.config.game)}", _about(found, network)]
    if not found.lines:
        parts.append("No iteration is finished yet, so there is nothing to report.")
        return "\n\n".join(parts) + "\n"
    if not figures.available():
        parts.append("Figures need matplotlib: `pip install 'tabia[plots]'`, then write the report again.")
    drawn = {name: _figure(found, name) for name in found.figures}
    parts += ["## Where it stands", strength_section.verdict(found.config, found.evaluations), _latest(found)]
    parts += strength_section.section(found.config, found.evaluations, found.rated, drawn)
    parts += [*_selfplay(found), *_learning(found)]
    parts += samples.section(found.run, found.game)
    return "\n\n".join(part for part in parts if part) + "\n"


# The parts of the text.


def _about(found: Found, network: str) -> str:
    config, game = found.config, found.game
    last = found.lines[-1] if found.lines else {"iteration": 0, "seconds": 0.0, "total_games": 0, "positions": 0}
    planned = f"{config.minutes:.4g} minutes" if config.minutes else f"{config.iterations:,} iterations"
    rows = [
        ("game", markdown(f"{game.id}, version {game.version}: {game.title}")),
        ("recipe, seed", markdown(f"{config.recipe}, {config.seed}")),
        (
            "length",
            f"{last['iteration']:,} iterations in {last['seconds'] / 60:.1f} minutes of wall clock; planned: {planned}",
        ),
        ("played", f"{last['total_games']:,} games, {last['positions']:,} positions"),
        ("search", f"{config.search.rule}, {config.search.simulations} simulations per move"),
        ("network", network),
        *_machines(found.run),
    ]
    return table(("", ""), rows) + "\n\nAll settings are in [config.toml](config.toml)."


def _machines(run: RunDirectory) -> list[tuple[str, str]]:
    rows = []
    for entry in machine.read(run):
        since = f", from iteration {entry['from_cycle']:,}" if entry["from_cycle"] else ""
        versions = ", ".join(f"{name} {version}" for name, version in entry["versions"].items())
        commit = f", commit {entry['commit']}" if entry.get("commit") else ""
        device = f"{entry.get('device')} on {entry.get('processor')}, {entry.get('cores')} cores"
        software = f"Python {entry.get('python')}, {versions}{commit}"
        rows += [(f"device{since}", markdown(shorten(device, 500))), ("versions", markdown(shorten(software, 500)))]
    return rows


def _latest(found: Found) -> str:
    """The newest value of each number, and its mean over the last iterations."""
    recent = found.lines[-_RECENT:]

    def row(words: str, curve: Curve, form: str) -> tuple[str, str, str]:
        if not curve:
            return words, "-", "-"
        return words, format(float(curve.values[-1]), form), format(float(curve.values.mean()), form)

    def named(words: str, name: str, form: str) -> tuple[str, str, str]:
        return row(words, series.curve(recent, name), form)

    rows = [
        named(f"policy loss ({_policy_loss(found.config)})", "loss_policy", ".4f"),
        named("value loss", "loss_value", ".4f"),
        named("entropy of the network's policy, nats", "entropy", ".3f"),
        named("entropy of the target, nats", "target_entropy", ".3f"),
        named("length of a game, moves", "length", ".1f"),
        row("first seat's score, -1 to 1", series.first_seat(recent), "+.3f"),
        named("drawn games", "draws", ".1%"),
        named("moves that were the network's favorite", "agrees", ".1%"),
        named("the network's probability of the move played", "prior", ".3f"),
    ]
    last = f"latest (iteration {found.lines[-1]['iteration']:,})"
    return table(("", last, f"mean of the last {len(recent)}"), rows, right=2)


def _policy_loss(config: Config) -> str:
    return {"cross_entropy": "KL divergence from the target, nats", "squared": "squared error"}[
        config.learner.policy_loss
    ]


def _selfplay(found: Found) -> list[str]:
    seen = "How often the move played was the network's own favorite, and the probability the network alone gave it."
    rows = [
        (
            f"{line['iteration']:,}",
            number(line.get("length"), ".1f"),
            number((line.get("scores") or [None])[0], "+.2f"),
            number(line.get("draws"), ".0%"),
            number(line.get("agrees"), ".1%"),
            number(line.get("prior"), ".3f"),
        )
        for line in series.spread(found.lines, _ROWS)
    ]
    headings = ("iteration", "length, moves", "first seat's score", "drawn", "favorite played", "its prior")
    parts = ["## Self-play", _figure(found, "games"), table(headings, rows, right=5)]
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
        tuple([f"{line['iteration']:,}"] + [number(line.get(name), form) for name, form in columns.values()])
        for line in series.spread(learned, _ROWS)
    ]
    entropy = (
        "Entropy of the network's policy and of what it is taught; a network that collapses to one move shows here."
    )
    return [
        "## Learning",
        _explained(found.config),
        _figure(found, "losses"),
        table(("iteration", *columns), rows, right=len(columns)),
        entropy,
        _figure(found, "entropy"),
    ]


def _explained(config: Config) -> str:
    """What the losses are, and why that of the policy may rise."""
    if config.learner.policy_loss == "squared":
        return "The policy loss is the squared error over the legal moves: 0 where the network agrees with the search."
    return _DIVERGENCE


_DIVERGENCE = (
    "The policy loss is the Kullback-Leibler divergence of the network's policy from its target, the policy of the "
    "search: their cross-entropy minus the target's own entropy, so 0 means that the network agrees with the search. "
    "It is no measure of strength and often rises early in a run: the search starts from the network's policy and "
    "changes it little while values are unknown; the better the values become, the more the search changes, and the "
    "further the target is from the network. The value loss cannot reach 0, because the outcome of a game is "
    "uncertain."
)
_LEARNED = {
    "policy loss": ("loss_policy", ".4f"),
    "value loss": ("loss_value", ".4f"),
    "entropy": ("entropy", ".3f"),
    "target's entropy": ("target_entropy", ".3f"),
    "learning rate": ("rate", ".1e"),
}
_BOARD = {"loss of the last position": ("loss_board", ".4f")}
_ILLEGAL = {"given to illegal moves": ("illegal", ".2%")}  # Schulte's measure; it tells something where they are taught


# Pieces of text.


def _figure(found: Found, name: str) -> str:
    return f"![{name}]({FIGURES}/{found.figures[name].name})" if name in found.figures else ""


def _rated(run: RunDirectory, plan: Plan, tell: Tell) -> Rated | str:
    """Ratings of the checkpoints as evaluations let them play, or why there are none."""
    try:
        return rated(run, plan.game, simulations=plan.config.evaluation.simulations, tell=tell)
    except TabiaError as error:
        return f"No ratings: {markdown(str(error))}"


def _network(plan: Plan) -> str:
    return f"{trunk(plan.config.network)}; {counts(plan.network).trainable:,} weights"
