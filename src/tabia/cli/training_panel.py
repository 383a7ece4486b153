"""The metrics of a run for people: a panel for the terminal, and one line of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tabia.cli.printing import escape
from tabia.training.pace import Pace
from tabia.training.training import Training

_COLORS = {"compiling": "yellow", "evaluating": "magenta", "gating": "magenta", "saving": "cyan", "stopping": "red"}
_AGREEMENT = ("agreement_network", "agreement_search")
_EVALUATED = ("matches", *_AGREEMENT, "gate_passed", "gate_score", "gate_games")
Found = tuple[str, str, str]  # name, result, interval


@dataclass
class View:
    """What is shown of a run."""

    training: Training
    pace: Pace = field(default_factory=Pace)
    latest: dict[str, Any] = field(default_factory=dict)  # the newest value of every metric
    measured: dict[str, tuple[int, Any]] = field(default_factory=dict)  # evaluations: iteration and value
    started: bool = False
    learning: bool = False
    ended: str | None = None

    def __post_init__(self) -> None:
        self.pace.note(self.training.counters)

    def note(self, line: Mapping[str, Any]) -> None:
        """Add the metrics of an iteration."""
        learning = self.learning or "loss_policy" in line
        self.pace.note(self.training.counters, reset=not self.started or learning != self.learning)
        self.started, self.learning = True, learning
        self.latest.update(line)
        self.measured.update({name: (line["iteration"], line[name]) for name in _EVALUATED if name in line})

    @property
    def phase(self) -> str:
        """The phase of the run, in one word."""
        if self.ended is not None:
            return "done" if self.ended == "finished" else self.ended
        if self.training.stopping:
            return "stopping"
        return self.training.phase

    @property
    def left(self) -> str:
        """The time left, in words."""
        seconds = self.pace.left(self.training.config)
        return "" if self.ended or seconds is None else f"{span(seconds)} left"


def span(seconds: float) -> str:
    """A duration.

    >>> span(59.6), span(252), span(3600 * 5 + 61)
    ('1:00', '4:12', '5:01:01')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def speed(value: float | None) -> str:
    """A number per second, in about three digits.

    >>> speed(12345.6), speed(3.14159), speed(None)
    ('12,346', '3.14', '-')
    """
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def evaluations(measured: Mapping[str, tuple[int, Any]]) -> list[Found]:
    """Matches against fixed opponents, agreement with perfect play, and the gate, as far as they were measured."""
    found: list[Found] = []
    for opponent, side in measured.get("matches", (0, {}))[1].items():
        spread = f"{side['low']:.1%} to {side['high']:.1%} in {side['games']} games"
        found.append((f"against {opponent}", f"{side['score']:.1%}", spread))
    agreement = [f"{measured[name][1]:.1%} {name.partition('_')[2]}" for name in _AGREEMENT if name in measured]
    if agreement:
        found.append(("perfect play", ", ".join(agreement), ""))
    if "gate_passed" in measured:
        verdict = "passed" if measured["gate_passed"][1] else "failed"
        found.append(("gate", verdict, f"{measured['gate_score'][1]:.1%} of {measured['gate_games'][1]} games"))
    return found


def line(view: View) -> str:
    """The run in one line of text."""
    numbers, counters = {name: value for block in _blocks(view) for name, value in block}, view.training.counters
    times = f"{view.training.progress:.0%}, {span(view.pace.elapsed)}, {view.left}".rstrip(", ")
    parts = [f"iteration {counters.iteration:,} | {times}"]
    groups = (
        ("games/s", "positions/s"),
        ("policy loss", "value loss", "entropy", "of target"),
        ("game length", "first seat", "draws", "agreement"),
    )
    parts += [", ".join(f"{name} {numbers[name]}" for name in names) for names in groups]
    if "actors" in view.latest:
        parts.append(f"actors {actors(view.latest)}")
    return " | ".join(parts)


def actors(latest: Mapping[str, Any]) -> str:
    """The actors of a run on a cluster, in words.

    >>> actors({"actors": 2, "actor_restarts": 1, "staleness": 0.5, "staleness_max": 1})
    '2, restarted 1, staleness 0.5 (at most 1)'
    """
    staleness = f"staleness {latest['staleness']:g} (at most {latest['staleness_max']})"
    return f"{latest['actors']}, restarted {latest['actor_restarts']}, {staleness}"


def panel(view: View) -> Panel:
    """The run as a panel that fits 80 columns."""
    config = view.training.config
    parts: list[RenderableType] = [_bar(view), ""]
    if view.started:
        parts += [_numbers(view), ""]
    else:
        parts += [Text("Compiling, which can take a minute."), ""]
    parts.append(_table(view))
    title = f"[bold]{escape(config.game)}[/], recipe {escape(config.recipe)}, seed {config.seed}"
    hint = None if view.ended else f"[dim]{_hint(view)}[/]"
    return Panel(Group(*parts), title=title, title_align="left", subtitle=hint, subtitle_align="right", padding=(1, 2))


def _hint(view: View) -> str:
    return "Ctrl-C again exits without saving" if view.training.stopping else "Ctrl-C stops and saves"


def _bar(view: View) -> Table:
    phase, progress = view.phase, view.training.progress
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(width=10, no_wrap=True)
    row.add_column(ratio=1)
    row.add_column(justify="right", no_wrap=True)
    times = "  ".join(part for part in (f"{progress:.0%}", span(view.pace.elapsed), view.left) if part)
    # The default styles of Rich are gray on terminals with few colors.
    bar = ProgressBar(1.0, progress, complete_style="green", finished_style="green")
    row.add_row(Text(phase, style=f"bold {_COLORS.get(phase, 'green')}"), bar, Text(times))
    return row


def _numbers(view: View) -> Table:
    """Three blocks of numbers side by side: speed, self-play, learning."""
    grid = Table.grid(expand=True)
    for _ in range(3):
        grid.add_column(justify="left", style="dim", no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(ratio=1)
    grid.columns.pop()
    blocks = _blocks(view)
    for row in zip(*blocks, strict=True):
        cells = [cell for name, value in row for cell in (f"{name}  ", value, "")]
        grid.add_row(*cells[:-1])
    return grid


def _blocks(view: View) -> list[list[tuple[str, str]]]:
    counters, latest = view.training.counters, view.latest

    def shown(name: str, form: str) -> str:
        return "-" if latest.get(name) is None else format(latest[name], form)

    first = latest["scores"][0] if latest.get("scores") else None
    return [
        [
            ("iteration", f"{counters.iteration:,}"),
            ("games", f"{counters.games:,}"),
            ("positions", f"{counters.positions:,}"),
            ("games/s", speed(view.pace.per_second("games"))),
            ("positions/s", speed(view.pace.per_second("positions"))),
        ],
        [
            ("game length", shown("game_length", ".1f")),
            ("first seat", "-" if first is None else f"{first:+.2f}"),
            ("draws", shown("draws", ".0%")),
            ("agreement", shown("policy_agreement", ".0%")),
            ("prior", shown("played_prior", ".2f")),
        ],
        [
            ("policy loss", shown("loss_policy", ".3f")),
            ("value loss", shown("loss_value", ".3f")),
            ("entropy", shown("entropy", ".2f")),
            ("of target", shown("target_entropy", ".2f")),
            ("learning rate", shown("learning_rate", ".1e")),
        ],
    ]


def _table(view: View) -> Table:
    """Evaluations, the newest checkpoint, and the run directory."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    if view.measured:
        grid.add_row("evaluated", f"after iteration {max(iteration for iteration, _ in view.measured.values()):,}")
    for name, value, more in evaluations(view.measured):
        grid.add_row(Text(name), Text.assemble((value, "bold"), f"  {more}"))
    if "actors" in view.latest:
        grid.add_row("actors", actors(view.latest))
    saved = view.training.saved
    grid.add_row("checkpoint", "none yet" if saved < 0 else f"iteration {saved:,}")
    grid.add_row("in", Text(str(view.training.run.path)))
    return grid
