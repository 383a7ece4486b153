"""report.md: what a run did and how strong it is, from nothing but the run directory.

write_report(RunDirectory(Path("runs/connect4")))
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tabia.core import plotting
from tabia.core.errors import TabiaError
from tabia.core.text import markdown, shorten
from tabia.evaluation.records import RecordError
from tabia.games.game import Game
from tabia.networks.summary import counts, trunk
from tabia.training.config.schema import Config
from tabia.training.plan import Plan
from tabia.training.report import figures, series, strength
from tabia.training.report.figures import FIGURES
from tabia.training.report.ratings import OnProgress, Ratings, rate_checkpoints
from tabia.training.report.series import Curve, Line, number, table
from tabia.training.report.strength import Strength
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.run.stored_games import readable, stored

REPORT = "report.md"
_GAMES = 3  # sample games
_ROWS = 10  # of a table
_RECENT = 20  # iterations of a recent mean


@dataclass(frozen=True)
class Contents:
    """Everything that a report is made of."""

    run: RunDirectory
    config: Config
    game: Game
    lines: list[Line]  # of the first board
    evaluations: list[Strength]
    figures: dict[str, Path]
    ratings: Ratings | str  # or why there are none


def write_report(
    run: RunDirectory,
    *,
    rate: bool = True,
    on_progress: OnProgress = lambda done, total: None,
    game: str | None = None,
) -> Path:
    """Write report.md and figures/.

    `game` is the id of the game if that is a Python file, which is run only for a caller who names it. With `rate`, the
    checkpoints play each other for ratings, which takes a while; `on_progress` receives the games finished.
    """
    config = run.config(game=game, command="report")
    plan, every = Plan(config), metrics.read(run)
    lines = [line for line in every if line.get("board", config.game) == config.game]
    evaluations = strength.measured(every)
    ratings: Ratings | str = _ratings(run, plan, on_progress) if rate else "No ratings: they were switched off."
    drawn: dict[str, Path] = {}
    if plotting.available():
        drawn = figures.draw(run, plan.game, config, lines, evaluations)
        if isinstance(ratings, Ratings):
            drawn["ratings"] = run.make_folder(run.path / FIGURES) / "ratings.svg"
            ratings.draw(drawn["ratings"])
    found = Contents(
        run=run,
        config=config,
        game=plan.game,
        lines=lines,
        evaluations=evaluations,
        figures=drawn,
        ratings=ratings,
    )
    run.write(run.path / REPORT, compose(found, network=_network(plan)).encode())
    return run.path / REPORT


def compose(found: Contents, *, network: str) -> str:
    """The text of the report."""
    parts = [f"# A run of {markdown(found.config.game)}", _about(found, network)]
    if not found.lines:
        parts.append("No iteration is finished yet, so there is nothing to report.")
        return "\n\n".join(parts) + "\n"
    if not plotting.available():
        parts.append("Figures need matplotlib. Run `pip install 'tabia[plots]'` and write the report again.")
    drawn = {name: _figure(found, name) for name in found.figures}
    parts += ["## Summary", strength.verdict(found.config, found.evaluations), _latest(found)]
    parts += strength.section(found.config, found.evaluations, found.ratings, drawn)
    parts += [*_selfplay(found), *_learning(found), *_games(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


# The parts of the text.


def _about(found: Contents, network: str) -> str:
    config, game = found.config, found.game
    last = found.lines[-1] if found.lines else {"iteration": 0, "seconds": 0.0, "total_games": 0, "positions": 0}
    rows = [
        ("game", markdown(f"{game.id}, version {game.version}: {game.title}")),
        ("recipe, seed", markdown(f"{config.recipe}, {config.seed}")),
        (
            "length",
            f"{last['iteration']:,} iterations in {last['seconds'] / 60:.1f} minutes of wall clock; "
            f"planned: {config.length}",
        ),
        ("played", f"{last['total_games']:,} games, {last['positions']:,} positions"),
        ("search", f"{config.search.rule}, {config.search.simulations} simulations per move"),
        ("network", network),
        *_machines(found.run),
    ]
    return table(("", ""), rows) + "\n\nAll settings are in [config.toml](config.toml)."


def _machines(run: RunDirectory) -> list[tuple[str, str]]:
    rows = []
    for entry in metrics.read_machines(run):
        since = f", from iteration {entry['from_iteration']:,}" if entry["from_iteration"] else ""
        versions = ", ".join(f"{name} {version}" for name, version in entry["versions"].items())
        commit = f", commit {entry['commit']}" if entry.get("commit") else ""
        device = f"{entry.get('device')} on {entry.get('processor')}, {entry.get('cores')} cores"
        software = f"Python {entry.get('python')}, {versions}{commit}"
        rows += [(f"device{since}", markdown(shorten(device, 500))), ("versions", markdown(shorten(software, 500)))]
    return rows


def _latest(found: Contents) -> str:
    """The newest value of each metric, and its mean over the last iterations."""
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
        named("game length, moves", "game_length", ".1f"),
        row("first seat's score, -1 to 1", series.first_seat(recent), "+.3f"),
        named("drawn games", "draws", ".1%"),
        named("moves that were the network's first choice", "policy_agreement", ".1%"),
        named("the network's probability of the move played", "played_prior", ".3f"),
    ]
    last = f"latest (iteration {found.lines[-1]['iteration']:,})"
    return table(("", last, f"mean of the last {len(recent)}"), rows, right=2)


def _policy_loss(config: Config) -> str:
    return {"cross_entropy": "KL divergence from the target, nats", "squared": "squared error"}[
        config.learner.policy_loss
    ]


def _selfplay(found: Contents) -> list[str]:
    seen = "How often the move played was the first choice of the network alone, and its prior probability."
    rows = [
        (
            f"{line['iteration']:,}",
            number(line.get("game_length"), ".1f"),
            number((line.get("scores") or [None])[0], "+.2f"),
            number(line.get("draws"), ".0%"),
            number(line.get("policy_agreement"), ".1%"),
            number(line.get("played_prior"), ".3f"),
        )
        for line in series.spread(found.lines, _ROWS)
    ]
    headings = ("iteration", "length, moves", "first seat's score", "drawn", "first choice played", "prior")
    parts = ["## Self-play", _figure(found, "games"), table(headings, rows, right=5)]
    if "openings" in found.figures:
        parts += ["### Opening moves", "In games from the initial position.", _figure(found, "openings")]
    return [*parts, "### Prior and move played", seen, _figure(found, "agreement")]


def _learning(found: Contents) -> list[str]:
    learned = [line for line in found.lines if "loss_policy" in line]
    if not learned:
        return ["## Learning", "Learning had not started: the replay buffer was still filling."]
    columns = dict(_LEARNED)
    columns |= {series.loss_title(name): (name, ".4f") for name in series.auxiliary_losses(learned)}
    if not found.config.learner.mask_illegal:
        columns |= _ILLEGAL
    rows = [
        tuple([f"{line['iteration']:,}"] + [number(line.get(name), form) for name, form in columns.values()])
        for line in series.spread(learned, _ROWS)
    ]
    entropy = "Entropy of the network's policy and of its target. It drops to 0 if the policy collapses to one move."
    return [
        "## Learning",
        _explained(found.config),
        _figure(found, "losses"),
        table(("iteration", *columns), rows, right=len(columns)),
        entropy,
        _figure(found, "entropy"),
    ]


def _explained(config: Config) -> str:
    """What the losses mean, and why the policy loss may rise."""
    if config.learner.policy_loss == "squared":
        return "The policy loss is the squared error over the legal moves: 0 if the network agrees with the search."
    return _DIVERGENCE


_DIVERGENCE = (
    "The policy loss is the Kullback-Leibler divergence of the network's policy from its target, the policy of the "
    "search: their cross-entropy minus the entropy of the target, so 0 means that the network agrees with the search. "
    "It does not measure strength and often rises early in a run: the search starts from the network's policy and "
    "changes it little while values are unknown. The better the values, the more the search changes, and the further "
    "the target is from the network. The value loss cannot reach 0, because the outcome of a game is uncertain."
)
_LEARNED = {
    "policy loss": ("loss_policy", ".4f"),
    "value loss": ("loss_value", ".4f"),
    "entropy": ("entropy", ".3f"),
    "target's entropy": ("target_entropy", ".3f"),
    "learning rate": ("learning_rate", ".1e"),
}
_ILLEGAL = {"on illegal moves": ("illegal", ".2%")}  # as in Schulte 2021; meaningful if they are not masked


def _games(found: Contents) -> list[str]:
    """The newest stored games that differ, each with its final board; empty if none are stored."""
    try:
        newest = ((iteration, held) for iteration, held in reversed(stored(found.run).items()) if held)
        iteration, held = next(newest, (0, []))
        chosen = list({record.moves: record for record in held}.values())[:_GAMES]
        shown = [readable(found.game, record) for record in chosen]
    except RecordError as error:
        return ["## Games", f"The stored games cannot be read: {markdown(str(error))}"]
    words = f"Self-play after iteration {iteration:,}, from the initial position. All stored games are in `games/`."
    return ["## Games", words, *shown] if shown else []


# Pieces of text.


def _figure(found: Contents, name: str) -> str:
    return f"![{name}]({FIGURES}/{found.figures[name].name})" if name in found.figures else ""


def _ratings(run: RunDirectory, plan: Plan, on_progress: OnProgress) -> Ratings | str:
    """Ratings of the checkpoints, with the search of evaluations, or why there are none."""
    simulations = plan.config.evaluation.simulations
    try:
        return rate_checkpoints(run, plan.game, simulations=simulations, on_progress=on_progress)
    except TabiaError as error:
        return f"No ratings: {markdown(str(error))}"


def _network(plan: Plan) -> str:
    """The network of the run; one that is widened, at its start and at its end."""
    sizes = dict.fromkeys(stage.network for stage in plan.stages)
    found = [f"{trunk(network.config)}; {counts(network).trainable:,} weights" for network in sizes]
    return found[0] if len(found) == 1 else f"{found[0]}; widened to {found[-1]}"
