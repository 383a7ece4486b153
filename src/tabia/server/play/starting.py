"""What a new game must satisfy: the number of seats, known agents, and fair conditions where it is rated."""

from __future__ import annotations

from dataclasses import replace

from tabia.players import ladder
from tabia.server.accounts import people
from tabia.server.accounts.visitor import Visitor
from tabia.server.catalog.catalog import Catalog
from tabia.server.database.database import Database
from tabia.server.errors import NotFound, Refused
from tabia.server.play.seats import AGENT, HUMAN, OPEN, Seat


def seat_of(database: Database, seat: Seat, visitor: Visitor) -> Seat:
    """A seat as a visitor asked for it, with the person it is for."""
    if seat.kind == HUMAN and visitor.person is not None:
        return replace(seat, person=visitor.person, name=visitor.name)
    if seat.kind != OPEN or seat.name is None:
        return seat
    person, name = _named(database, seat.name)
    if person == visitor.person:
        raise Refused("Somebody else is needed for the open seat.")
    return replace(seat, person=person, name=name)


def _named(database: Database, name: str) -> tuple[str, str]:
    """The id and the name of a member or bot."""
    with database.transaction() as connection:
        row = people.find(connection, name)
    if row is None or row.banned is not None:
        raise NotFound("There is nobody with this name here.")
    return row.id, row.name


def check(
    catalog: Catalog, game_id: str, seats: tuple[Seat, ...], *, shared: bool, rated: bool, opening: str = ""
) -> None:
    """Refuse seats that do not fit the game, or that nobody could play fairly."""
    game = catalog.game(game_id).game
    if len(seats) != game.num_players:
        raise Refused(f"{game.id} has {game.num_players} seats; {len(seats)} were given.")
    check_agents(catalog, game_id, seats)
    if not shared and (rated or any(seat.kind == OPEN for seat in seats)):
        raise Refused("Rated games and games by link need a server that was started with `tabia serve`.")
    if shared and not any(seat.kind == HUMAN for seat in seats):
        raise Refused("Take a seat yourself: one of the seats must be `human`.")
    if rated:
        _check_rated(catalog, game_id, seats, opening)


def check_agents(catalog: Catalog, game_id: str, seats: tuple[Seat, ...]) -> None:
    """Refuse agents that are not in the catalog."""
    game = catalog.game(game_id).game
    for seat in seats:
        if seat.kind == AGENT:
            catalog.agent(game, seat.agent or "")
        elif seat.kind not in (HUMAN, OPEN) or seat.agent is not None:
            raise Refused("A seat is a person's, open, or an agent's with the agent's id.")


def _check_rated(catalog: Catalog, game_id: str, seats: tuple[Seat, ...], opening: str) -> None:
    game = catalog.game(game_id).game
    if ladder.find(game) is None:
        raise Refused(f"{game.id} has no ladder of agents, so its games are not rated.")
    if opening:
        raise Refused("Rated games start from the beginning, without an opening.")
    if sum(seat.kind == HUMAN for seat in seats) > 1:
        raise Refused("In a rated game you can have one seat only.")
    for seat in seats:
        if seat.agent is not None and catalog.agent(game, seat.agent).elo is None:
            raise Refused(f"{seat.agent} has no rating; choose an agent of the ladder.")
