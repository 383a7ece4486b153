"""Games as text: a live game as a record, and a record or a line of moves as a game of the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabia.core.errors import TabiaError
from tabia.core.text import quote
from tabia.evaluation import records
from tabia.evaluation.records import Record
from tabia.games.session import Session
from tabia.server.catalog.catalog import Catalog
from tabia.server.errors import NotFound, Refused
from tabia.server.play.lines import line
from tabia.server.play.live import LiveGame


def record(catalog: Catalog, game: LiveGame) -> Record:
    """A live game as `tabia play --load` reads it."""
    session = game.session

    def player(agent: str | None) -> str:
        if agent is None:
            return "human"
        try:
            return catalog.agent(session.game, agent).spec
        except NotFound:  # its run has gone
            return agent

    return Record(
        game=session.game.id,
        version=session.game.version,
        players=tuple(player(seat.agent) for seat in game.seats),
        moves=session.moves,
        scores=tuple(float(score) for score in session.scores),
        opening=game.opening_plies,
        seed=session.seed,
        end="resigned" if session.resigned is not None else "over" if session.over else "unfinished",
    )


def text(catalog: Catalog, game: LiveGame) -> str:
    """A live game as a file of records."""
    return records.text(records.RecordFile({}, [record(catalog, game)]))


def stored(path: Path, *, within: Path) -> list[Record]:
    """The games of a file of records inside a run directory."""
    return records.load(path, within=within).records


def parse(catalog: Catalog, text: str, game: str | None = None) -> dict[str, Any]:
    """The game and the moves in a text; the text of a record names its game, moves alone may be of any."""
    if text.lstrip().startswith(records.FORMAT):
        session = _from_record(catalog, text.lstrip())
    elif game is not None:
        session = line(catalog, game, " ".join(text.split()))
    else:
        session = _guessed(catalog, " ".join(text.split()))
    return {"game": session.game.id, "moves": session.text}


def _from_record(catalog: Catalog, text: str) -> Session:
    found = records.parse(text, "The text").records
    if not found:
        raise Refused("The text holds no game.")
    last = found[-1]
    if last.game not in catalog.entries:
        raise Refused(f"The record is of {quote(last.game)}; start `tabia play` with that game to open it.")
    return records.replay(catalog.game(last.game).game, last)


def _guessed(catalog: Catalog, text: str) -> Session:
    """The first game of the catalog in which all moves are legal."""
    for name in catalog.entries:
        try:
            return line(catalog, name, text)
        except TabiaError:
            continue
    raise Refused("These moves are of none of the games here; paste a record, or choose the game first.")
