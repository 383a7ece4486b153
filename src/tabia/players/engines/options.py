"""The options of outside engines: `gtp:COMMAND`, `uci:COMMAND`, `gnubg`.

    gtp:gtp-rhino,level=4            gtp:gnugo,level=10             gtp:my-engine --gtp,seconds=2
    uci:fairy-stockfish,nodes=1000   uci:stockfish,seconds=0.1,level=5
    gnubg                            gnubg:plies=1

The command is the text up to the first comma. For programs that Tabia knows, it adds the arguments that they need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tabia.games.game import Game
from tabia.games.protocols.gtp import gtp_game
from tabia.games.protocols.notation import Notation, ProtocolError
from tabia.games.protocols.uci import Limits, uci_game
from tabia.players.engines.gnubg import GnubgPlayer
from tabia.players.engines.gtp import GtpEngine
from tabia.players.engines.player import PROCESSES, EnginePlayer
from tabia.players.engines.process import Command
from tabia.players.engines.uci import UciEngine
from tabia.players.spec import MODIFIERS, Options, PlayerError

_Notation = TypeVar("_Notation", bound=Notation)
NAMES = ("gtp", "uci", "gnubg")
"""The names of players that are outside engines."""
_LONGEST = 86_400.0  # seconds a move may take: a day


@dataclass(frozen=True)
class Program:
    """A program that Tabia knows."""

    package: str  # of Debian
    arguments: tuple[str, ...] = ()  # always given
    level: str | None = None  # the argument before the level, for GTP engines


PROGRAMS = {
    "gtp-rhino": Program("grhino", level="--level"),
    # Area scoring needs dead stones captured, because the game counts what is on the board.
    "gnugo": Program(
        "gnugo",
        ("--mode", "gtp", "--chinese-rules", "--play-out-aftermath", "--capture-all-dead"),
        level="--level",
    ),
    "fairy-stockfish": Program("fairy-stockfish"),
    "stockfish": Program("stockfish"),
    "gnubg": Program("gnubg", ("-t", "-q", "-r")),
}
"""Known programs, by name."""


def make_gtp(game: Game, options: Options) -> EnginePlayer:
    """An engine that speaks GTP."""
    notation = _notation(gtp_game, game)
    level = options.whole("level", None, low=0, high=1000)
    seconds = options.number("seconds", None, low=1.0, high=_LONGEST)
    command = _command(options, _level_arguments(options, level))
    processes = options.whole("processes", PROCESSES, high=1024)
    _close(options)
    return EnginePlayer(
        game, str(options.spec), lambda: GtpEngine(command, notation, seconds=seconds), processes=processes
    )


def make_uci(game: Game, options: Options) -> EnginePlayer:
    """An engine that speaks UCI."""
    notation = _notation(uci_game, game)
    level = options.whole("level", None, low=-100, high=1000)
    nodes, depth = options.whole("nodes", None, high=2**60), options.whole("depth", None, high=1000)
    seconds = options.number("seconds", None, low=0.001, high=_LONGEST)
    if nodes is None and depth is None and seconds is None:
        raise PlayerError(f"{options.spec} needs a limit per move: nodes=1000, depth=6 or seconds=0.1.")
    limits = Limits(nodes=nodes, depth=depth, movetime=None if seconds is None else round(1000 * seconds))
    command, variant = _command(options), options.text("variant", notation.variant)
    settings = {} if level is None else {"Skill Level": str(level)}
    processes = options.whole("processes", PROCESSES, high=1024)
    _close(options)
    return EnginePlayer(
        game,
        str(options.spec),
        lambda: UciEngine(command, notation, limits=limits, options=settings, variant=variant),
        processes=processes,
    )


def make_gnubg(game: Game, options: Options) -> GnubgPlayer:
    """GNU Backgammon."""
    plies, command = options.whole("plies", 0, low=0, high=3), _command(options)
    _close(options)
    return GnubgPlayer(game, str(options.spec), command, plies=plies)


def _close(options: Options) -> None:
    """Refuse unknown options and modifiers before a process starts."""
    for name in MODIFIERS:
        options.only_with(name, "Tabia's own players")
    options.close()


def _notation(find: Callable[[Game], _Notation], game: Game) -> _Notation:
    try:
        return find(game)
    except ProtocolError as error:
        raise PlayerError(str(error)) from None


def _level_arguments(options: Options, level: int | None) -> tuple[str, ...]:
    if level is None:
        return ()
    known = PROGRAMS.get(Command.parse(options.spec.what or "").program)
    if known is None or known.level is None:
        options.only_with("level", " and ".join(name for name, one in PROGRAMS.items() if one.level))
        raise AssertionError
    return (known.level, str(level))


def _command(options: Options, more: tuple[str, ...] = ()) -> Command:
    """The command of a spec, with the limits of its process."""
    text = options.spec.what or (options.spec.name if options.spec.name in PROGRAMS else "")
    command = Command.parse(
        text,
        memory=options.whole("memory", 4096, low=16, high=1 << 24),
        timeout=options.number("timeout", 60.0, low=0.1, high=_LONGEST),
    )
    known = PROGRAMS.get(command.program)
    given = () if known is None else known.arguments
    return Command(
        words=(*command.words, *given, *more),
        package="" if known is None else known.package,
        memory=command.memory,
        timeout=command.timeout,
    )
