"""A run's numbers laid out for people: the panel of a terminal, and one line of text."""

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
from tabia.training.loop import Training
from tabia.training.pace import Pace

_COLORS = {"compiling": "yellow", "evaluating": "magenta", "judging": "magenta", "saving": "cyan", "stopping": "red"}
_EVALUATED = ("matches", "keeps_network", "keeps_searched", "gate_passed", "gate_share", "gate_games")
Found = tuple[str, str, str]  # what was measured, how it came out, how sure that is


@dataclass
class Sight:
    """What is known of a run by now."""

    training: Training
    pace: Pace = field(default_factory=Pace)
    latest: dict[str, Any] = field(default_factory=dict)  # the newest value of every number
    measured: dict[str, tuple[int, Any]] = field(
        default_factory=dict
    )  # of evaluations: the iteration, and what was found
    started: bool = False
    learning: bool = False
    ended: str | None = None

    def __post_init__(self) -> None:
        self.pace.note(self.training.counters)

    def note(self, line: Mapping[str, Any]) -> None:
        """Take in an iteration's metrics."""
        learning = self.learning or "loss_policy" in line
        self.pace.note(self.training.counters, afresh=not self.started or learning != self.learning)
        self.started, self.learning = True, learning
        self.latest.update(line)
        self.measured.update({name: (line["iteration"], line[name]) for name in _EVALUATED if name in line})

    @property
    def state(self) -> str:
        """What the run is doing, in one word."""
        if self.ended is not None:
            return "done" if self.ended == "finished" else self.ended
        if self.training.stopping:
            return "stopping"
        return self.training.doing

    @property
    def left(self) -> str:
        """Time to the end, in words."""
        seconds = self.pace.left(self.training.config)
        return "" if self.ended or seconds is None else f"{span(seconds)} left"


def span(seconds: float) -> str:
    """A length of time.

    >>> span(59.6), span(252), span(3600 * 5 + 61)
    ('1:00', '4:12', '5:01:01')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def rate(value: float | None) -> str:
    """Things a second, in three digits or so.

    >>> rate(12345.6), rate(3.14159), rate(None)
    ('12,346', '3.14', '-')
    """
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def evaluations(measured: Mapping[str, tuple[int, Any]]) -> list[Found]:
    """Matches against fixed opponents, agreement with perfect play, the gate: whatever was measured."""
    found: list[Found] = []
    for opponent, side in measured.get("matches", (0, {}))[1].items():
        spread = f"{side['low']:.1%} to {side['high']:.1%} by {side['games']} games"
        found.append((f"against {opponent}", f"{side['share']:.1%}", spread))
    kept = [f"{measured[name][1]:.1%} {name.removeprefix('keeps_')}" for name in _EVALUATED[1:3] if name in measured]
    if kept:
        found.append(("perfect play", ", ".join(kept), ""))
    if "gate_passed" in measured:
        verdict = "passed" if measured["gate_passed"][1] else "refused"
        found.append(("gate", verdict, f"{measured['gate_share'][1]:.1%} of {measured['gate_games'][1]} games"))
    return found


def line(sight: Sight) -> str:
    """The run in one line of text."""
    numbers, counters = {name: value for block in _blocks(sight) for name, value in block}, sight.training.counters
    parts = [
        f"iteration {counters.iteration:,} | {sight.training.progress:.0%}, {span(sight.pace.elapsed)}, {sight.left}".rstrip(
            ", "
        )
    ]
    groups = (
        ("games/s", "positions/s"),
        ("policy loss", "value loss", "entropy", "of target"),
        ("length", "first seat", "draws", "agreement"),
    )
    parts += [", ".join(f"{name} {numbers[name]}" for name in names) for names in groups]
    return " | ".join(parts)


def panel(sight: Sight) -> Panel:
    """The run as a panel that fits 80 columns."""
    config = sight.training.config
    parts: list[RenderableType] = [_bar(sight), ""]
    if sight.started:
        parts += [_numbers(sight), ""]
    else:
        parts += [Text("The programs of this run are compiled first, which can take a minute."), ""]
    parts.append(_table(sight))
    title = f"[bold]{escape(config.game)}[/], recipe {escape(config.recipe)}, seed {config.seed}"
    hint = None if sight.ended else f"[dim]{_hint(sight)}[/]"
    return Panel(Group(*parts), title=title, title_align="left", subtitle=hint, subtitle_align="right", padding=(1, 2))


def _hint(sight: Sight) -> str:
    return "Ctrl-C again exits without saving" if sight.training.stopping else "Ctrl-C stops and saves"


def _bar(sight: Sight) -> Table:
    state, progress = sight.state, sight.training.progress
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(width=10, no_wrap=True)
    row.add_column(ratio=1)
    row.add_column(justify="right", no_wrap=True)
    times = "  ".join(part for part in (f"{progress:.0%}", span(sight.pace.elapsed), sight.left) if part)
    # Rich's own styles are gray on terminals with few colors.
    bar = ProgressBar(1.0, progress, complete_style="green", finished_style="green")
    row.add_row(Text(state, style=f"bold {_COLORS.get(state, 'green')}"), bar, Text(times))
    return row


def _numbers(sight: Sight) -> Table:
    """Three blocks of numbers side by side: how fast, how it plays, how it learns."""
    grid = Table.grid(expand=True)
    for _ in range(3):
        grid.add_column(justify="left", style="dim", no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(ratio=1)
    grid.columns.pop()
    blocks = _blocks(sight)
    for row in zip(*blocks, strict=True):
        cells = [cell for name, value in row for cell in (f"{name}  ", value, "")]
        grid.add_row(*cells[:-1])
    return grid


def _blocks(sight: Sight) -> list[list[tuple[str, str]]]:
    counters, latest = sight.training.counters, sight.latest

    def shown(name: str, form: str) -> str:
        return "-" if latest.get(name) is None else format(latest[name], form)

    first = latest["scores"][0] if latest.get("scores") else None
    return [
        [
            ("iteration", f"{counters.iteration:,}"),
            ("games", f"{counters.games:,}"),
            ("positions", f"{counters.positions:,}"),
            ("games/s", rate(sight.pace.rate("games"))),
            ("positions/s", rate(sight.pace.rate("positions"))),
        ],
        [
            ("length", shown("length", ".1f")),
            ("first seat", "-" if first is None else f"{first:+.2f}"),
            ("draws", shown("draws", ".0%")),
            ("agreement", shown("agrees", ".0%")),
            ("prior", shown("prior", ".2f")),
        ],
        [
            ("policy loss", shown("loss_policy", ".3f")),
            ("value loss", shown("loss_value", ".3f")),
            ("entropy", shown("entropy", ".2f")),
            ("of target", shown("target_entropy", ".2f")),
            ("learning rate", shown("rate", ".1e")),
        ],
    ]


def _table(sight: Sight) -> Table:
    """Evaluations, the newest checkpoint, and where the run lies."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    if sight.measured:
        grid.add_row("evaluated", f"after iteration {max(iteration for iteration, _ in sight.measured.values()):,}")
    for name, value, more in evaluations(sight.measured):
        grid.add_row(Text(name), Text.assemble((value, "bold"), f"  {more}"))
    saved = sight.training.saved
    grid.add_row("checkpoint", "none yet" if saved < 0 else f"iteration {saved:,}")
    grid.add_row("in", Text(str(sight.training.run.path)))
    return grid
