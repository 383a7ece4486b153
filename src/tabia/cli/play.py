"""`tabia play`: a game against any player, or between people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli.extras import needs_server
from tabia.cli.options import Moves, RunsDirectory, Seed

if TYPE_CHECKING:
    from tabia.evaluation.records import Record
    from tabia.games import Game

GameIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="[GAME]...", help="Game ids, or file.py:Class for a game of your own; the first one opens."),
]
Terminal = Annotated[
    bool, typer.Option("--terminal", help="Play in the terminal; implied by the options from --level to --seed.")
]
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port of the page; if it is taken, the next free one.")]
Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where games are stored.", show_default="the user's data directory")
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]
Level = Annotated[
    str | None, typer.Option(help="Strength of your opponents: easy, medium, hard or best.", show_default="best")
]
Against = Annotated[
    list[str] | None,
    typer.Option(metavar="SPEC", help="The player of the other seats, or one option per seat; human is allowed."),
]
Seat = Annotated[int, typer.Option(min=0, help="Your seat, from 1; 0 to watch.")]
Load = Annotated[Path | None, typer.Option(help="Continue a saved game, or show a finished one.")]
Number = Annotated[
    int | None, typer.Option(min=1, help="The number of the game in a file with several.", show_default="the last")
]
Hint = Annotated[
    str | None, typer.Option(metavar="SPEC", help="The player that gives hints.", show_default="the best agent")
]


def play(
    games: GameIds = None,
    port: Port = 8765,
    runs: RunsDirectory = Path("runs"),
    data: Data = None,
    no_browser: NoBrowser = False,
    terminal: Terminal = False,
    level: Level = None,
    against: Against = None,
    seat: Seat = 1,
    moves: Moves = "",
    load: Load = None,
    number: Number = None,
    hint: Hint = None,
    seed: Seed = 0,
) -> None:
    """Play in a browser: any game at any level, with review, live training runs and explanations.

    Only this computer can open the page. Every move is saved at once, so Ctrl-C loses nothing. A second
    [bold]tabia play[/] opens the page that already runs.

    With --terminal, type a move, or ? for help: undo, hint, save FILE, replay, quit. Your opponent is
    the best agent for the game, a weaker one with --level, or the player that --against names. Levels come from the
    game's measured ladder. The game is saved after every move. Moves can also come from a pipe, one per line. A game
    between players, such as one of a match, is replayed from its start.

    Examples:
      [bold]tabia play[/]
      [bold]tabia play othello nim.py:Nim[/]
      [bold]tabia play connect4 --terminal --level medium --seat 2[/]
      [bold]tabia play chinese-checkers --against greedy --against initialize[/]
      [bold]tabia play --load game.txt[/]
    """
    if not terminal and not (level or against or moves or load or number or hint) and (seat, seed) == (1, 0):
        _play_in_browser(tuple(games or ()), port, runs, data, browser=not no_browser)
    else:
        _play_in_terminal(
            games or [],
            level=level,
            against=against,
            seat=seat,
            moves=moves,
            load=load,
            number=number,
            hint=hint,
            seed=seed,
        )


def _play_in_browser(games: tuple[str, ...], port: int, runs: Path, data: Path | None, *, browser: bool) -> None:
    """Serve the page until Ctrl-C."""
    from tabia.cli import interrupts

    with needs_server("The page", instead="play in the terminal with --terminal"):
        from tabia.server.launch import Launch, Options
    options = Options(games=games, port=port, runs=runs, data=data, browser=browser)
    launch = Launch(options, typer.echo)
    with interrupts.on_interrupt(launch.stop, seconds=1.5):
        launch.run()


def _play_in_terminal(
    games: list[str],
    *,
    level: str | None,
    against: list[str] | None,
    seat: int,
    moves: str,
    load: Path | None,
    number: int | None,
    hint: str | None,
    seed: int,
) -> None:
    """One game, move by move."""
    from tabia.core.errors import TabiaError

    if len(games) > 1:
        raise TabiaError(f"The terminal plays one game at a time; give one of {', '.join(games)}.")
    game_id = games[0] if games else None
    if load is not None and (moves or level):
        raise TabiaError("--load sets the players and the moves; remove --moves and --level.")
    if level is not None and against:
        raise TabiaError("--level and --against both choose your opponent; give only one of them.")
    from tabia.cli.terminal import Terminal

    if load is None:
        game, record = _started(game_id, level, against, seat, moves, seed)
    else:
        record = _loaded(load, number)
        game = _trusted(load, record, game_id, against or [])
    Terminal.open(record, game, hint=hint).play()


def _started(
    game_id: str | None, level: str | None, against: list[str] | None, seat: int, moves: str, seed: int
) -> tuple[Game, Record]:
    """The game asked for and its record after `moves`."""
    from tabia.core.errors import TabiaError
    from tabia.evaluation.records import Record
    from tabia.games import Session, make
    from tabia.players.ladder import LEVELS, opponent

    if game_id is None:
        raise TabiaError("Which game? Name one, as in `tabia play connect4`; `tabia games` lists them.")
    game = make(game_id)
    if seat > game.num_players:
        raise TabiaError(f"--seat {seat}: {game.id} has the seats 1 to {game.num_players}.")
    record = Record(
        game=game.id,
        version=game.version,
        players=_seats(game.num_players, seat, against or [opponent(game, level or LEVELS[-1])]),
        moves=Session.from_moves(game, moves, seed=seed).moves,
        scores=(0.0,) * game.num_players,
        seed=seed,
        end="unfinished",
    )
    return game, record


def _trusted(path: Path, record: Record, game_id: str | None, against: list[str]) -> Game:
    """The game of a record; Python files in the record run only if the user has named them too."""
    from tabia.core.errors import TabiaError
    from tabia.core.text import quote
    from tabia.core.trust import check_data
    from tabia.games import identity, make

    game = None if game_id is None else make(game_id)
    if game is not None and not identity.is_same(game, record.game):
        raise TabiaError(f"{path} contains a game of {quote(record.game)}, not of {game.id}; remove GAME.")
    for spec in against:
        if spec not in record.players:
            players = ", ".join(map(quote, record.players))
            raise TabiaError(f"--against {quote(spec)}: {path} has the players {players}; remove --against.")
    if game is None:
        fix = f"tabia play {quote(record.game)} --load {path}"
        check_data(record.game, source=str(path), fix=fix)
    for spec in record.players if not record.view_only else ():
        check_data(spec, source=str(path), fix=f"add --against {quote(spec)}", named=against)
    return make(record.game) if game is None else game


def _loaded(path: Path, number: int | None) -> Record:
    """The game with this number in a file, or the last."""
    from tabia.core.errors import TabiaError
    from tabia.evaluation.records import load

    games = load(path).records
    if not 1 <= (number or 1) <= len(games):
        raise TabiaError(f"{path} contains {len(games)} games; --number {number or 1} is not one of them.")
    return games[(number or 0) - 1]


def _seats(count: int, seat: int, against: list[str]) -> tuple[str, ...]:
    """The player of each seat."""
    from tabia.core.errors import TabiaError

    others = count - (seat > 0)
    if len(against) not in {1, others}:
        raise TabiaError(f"{others} seats are free; give --against once for all of them, or {others} times.")
    left = iter(against if len(against) == others else against * others)
    from tabia.games.seats import HUMAN

    return tuple(HUMAN if place == seat else next(left) for place in range(1, count + 1))
