"""`tabia play`: a game against any player, or between people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli.games import Moves, Seed

if TYPE_CHECKING:
    from tabia.evaluation.records import Record
    from tabia.games import Game

GameId = Annotated[
    str | None,
    typer.Argument(metavar="GAME", help="A game's id; a saved game brings its own, unless that is a file.py:Class."),
]
Terminal = Annotated[bool, typer.Option("--terminal", help="Play in the terminal, which is the only place so far.")]
Level = Annotated[
    str | None, typer.Option(help="How strong the other seats are: easy, medium, hard or best (the default).")
]
Against = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC", help="Who has the other seats instead: one for all of them, or one for each; human works too."
    ),
]
Seat = Annotated[int, typer.Option(min=0, help="Your seat, counted from 1; 0 means you only watch.")]
Load = Annotated[Path | None, typer.Option(help="Go on with a saved game, or show one that is over.")]
Number = Annotated[int | None, typer.Option(min=1, help="Which game of a file with several; the last, if not said.")]
Hint = Annotated[str | None, typer.Option(metavar="SPEC", help="Who gives hints; your opponent, if not said.")]


def play(
    game_id: GameId = None,
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
    """Play a game in the terminal. Type a move, or ? for help: undo, hint, save FILE, replay, quit.

    Your opponent is the best agent there is for the game, a weaker one with --level, or whoever --against names.
    Levels come from the game's measured ladder. Every move is kept at once, so Ctrl-C loses nothing. Moves can also
    come from a pipe, one per line. A game between players, such as one of a match, is shown from its start.

    Examples:
      [bold]tabia play connect4[/]
      [bold]tabia play connect4 --level medium --seat 2[/]
      [bold]tabia play chinese-checkers --against greedy --against initialize[/]
      [bold]tabia play othello --against human[/]
      [bold]tabia play --load game.txt[/]
    """
    from tabia.core.errors import TabiaError

    if load is not None and (moves or level):
        raise TabiaError("--load brings its players and its moves; leave --moves and --level out.")
    if level is not None and against:
        raise TabiaError("--level and --against both say who your opponent is; give one of them.")
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
    """The game of a record; Python files that the record names are run only if the user named the same ones."""
    from tabia.core.errors import TabiaError
    from tabia.core.text import quote
    from tabia.core.trust import check_data
    from tabia.games import identity, make

    game = None if game_id is None else make(game_id)
    if game is not None and not identity.is_same(game, record.game):
        raise TabiaError(f"{path} holds a game of {quote(record.game)}, not of {game.id}; leave GAME out.")
    for spec in against:
        if spec not in record.players:
            players = ", ".join(map(quote, record.players))
            raise TabiaError(f"--against {quote(spec)}: {path} brings its players, {players}; leave --against out.")
    if game is None:
        fix = f"tabia play {quote(record.game)} --load {path}"
        check_data(record.game, source=str(path), fix=fix)
    for spec in record.players if not record.shown_only else ():
        check_data(spec, source=str(path), fix=f"add --against {quote(spec)}", named=against)
    return make(record.game) if game is None else game


def _loaded(path: Path, number: int | None) -> Record:
    """A game of a file: the one with this number, or the last."""
    from tabia.core.errors import TabiaError
    from tabia.evaluation.records import read

    games = read(path).records
    if not 1 <= (number or 1) <= len(games):
        raise TabiaError(f"{path} has {len(games)} games; there is no game {number or 1}.")
    return games[(number or 0) - 1]


def _seats(count: int, seat: int, against: list[str]) -> tuple[str, ...]:
    """Who sits where."""
    from tabia.core.errors import TabiaError

    others = count - (seat > 0)
    if len(against) not in {1, others}:
        raise TabiaError(f"{others} seats are free; name one player for all of them with --against, or {others}.")
    left = iter(against if len(against) == others else against * others)
    from tabia.games.seats import HUMAN

    return tuple(HUMAN if place == seat else next(left) for place in range(1, count + 1))
