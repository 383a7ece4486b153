"""One position three ways: the network alone, the search, the truth; with the tree and the planes the network sees."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np

from tabia.games import Game
from tabia.games.moves import legal_names
from tabia.games.session import Session
from tabia.players import Analysis
from tabia.search.picture import Branch
from tabia.server.analysis import asking, exact
from tabia.server.catalog.agents import network_of, with_simulations
from tabia.server.errors import Refused
from tabia.server.play.lines import player_name

if TYPE_CHECKING:
    from tabia.server.web.context import Context

_PLANES = {
    "checkers": (
        "men of the mover",
        "kings of the mover",
        "men of the opponent",
        "kings of the opponent",
        "piece that must jump on",
        "how near a draw is",
    )
}


async def explain(parts: Context, session: Session, spec: str, simulations: int) -> dict[str, Any]:
    """A position as the network, the search and the solver see it."""
    if session.over:
        raise Refused("The game is over here; go back a move.")
    game = session.game
    network, searching = network_of(spec), with_simulations(spec, simulations)
    asked = [parts.worker.analyze(player_name(game.id, searching), session)]
    if network is not None:
        asked.append(parts.worker.analyze(player_name(game.id, network), session))
    if parts.catalog.game(game.id).is_exact:
        asked.append(parts.worker.evaluate(player_name(game.id, exact.PERFECT), session))
    answers = [await asyncio.wrap_future(future) for future in asked]
    search = answers.pop(0)
    alone = answers.pop(0) if network is not None else None
    truth = answers.pop(0) if answers else None
    return {
        "network": None if alone is None else asking.to_dict(alone),
        "search": asking.to_dict(search),
        "exact": None if truth is None else {**asking.to_dict(truth), **exact.fields(truth)},
        "tree": await asyncio.to_thread(tree, session, search),
        "planes": await asyncio.to_thread(planes, session),
        "simulations": simulations,
    }


def tree(session: Session, found: Analysis) -> dict[str, Any] | None:
    """The top of the search tree, with the action of every move."""
    return None if found.tree is None else _node(session, found.tree, None)


def _node(session: Session, branch: Branch, action: int | None) -> dict[str, Any]:
    here = session if action is None else session.play(action)
    names = {name: number for number, name in legal_names(here.game, here.legal, here.state).items()}
    children = [
        _node(here, child, names[child.move]) if child.children else _leaf(child, names[child.move])
        for child in branch.children
    ]
    return {**_leaf(branch, action), "children": children}


def _leaf(branch: Branch, action: int | None) -> dict[str, Any]:
    return {
        "move": branch.move,
        "action": action,
        "visits": branch.visits,
        "value": branch.value,
        "prior": round(branch.prior, 4),
        "main": branch.main,
        "children": [],
    }


def planes(session: Session) -> list[dict[str, Any]]:
    """What the network sees, from the mover's side."""
    seen = session.observe(session.mover)
    names = plane_names(session.game)
    return [
        {"name": name, "values": np.round(seen[:, :, index].astype(float), 4).tolist()}
        for index, name in enumerate(names)
    ]


def plane_names(game: Game) -> list[str]:
    """The names of a game's planes; planes without a name get a number."""
    count = game.observation_shape[-1]
    known = list(_PLANES.get(game.name, ()))
    if not known and game.name in ("connect", "tictactoe", "othello", "chinese-checkers"):
        others = ["the opponent"] if game.num_players == 2 else ["the next seat", "the seat after"]
        known = [f"pieces of {who}" for who in ("the mover", *others)][: game.num_players]
    if game.name == "chinese-checkers" and len(known) == game.num_players:
        known += ["fields of the board", "goal of the mover"]
    return [known[index] if index < len(known) else f"plane {index + 1}" for index in range(count)]
