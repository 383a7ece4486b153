"""A bot: accepts challenges and plays all of its games at once, each in a thread of its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor

from tabia.client.client import Client
from tabia.client.connection import ApiError, Json
from tabia.client.game import Turn

Choose = Callable[[Turn], str]
"""The bot's move in a position, as text."""
GAMES = 4
"""Games at a time: a server allows five streams, and the events are one."""
_PAUSE = 2.0  # seconds before a lost stream is opened again
_log = logging.getLogger("tabia.client")


def run_bot(
    client: Client, choose: Choose, *, games: Collection[str] | None = None, until: Callable[[], bool] = lambda: False
) -> None:
    """Accept challenges to these games (all, if not given) and play, until `until` is true after an event.

    A lost connection is opened again, and games that were running are continued.
    """
    playing: set[str] = set()
    with ThreadPoolExecutor(GAMES, thread_name_prefix="game") as threads:
        while not until():
            try:
                for name, event in client.events():
                    _handle(client, choose, games, name, event, playing, threads)
                    if until():
                        return
            except ApiError as error:
                if 400 <= error.status < 500:
                    raise  # the token is not valid, or not a bot's
                _log.warning("%s", error)
            time.sleep(_PAUSE)


def _handle(
    client: Client,
    choose: Choose,
    games: Collection[str] | None,
    name: str,
    event: Json,
    playing: set[str],
    threads: ThreadPoolExecutor,
) -> None:
    if name == "challenge" and (games is None or event["game"] in games):
        try:
            client.join(event["code"])
        except ApiError as error:  # it was taken back
            _log.warning("%s", error)
    elif name == "gameStart" and event["id"] not in playing:
        playing.add(event["id"])
        threads.submit(_play, client, choose, event["id"], playing)


def _play(client: Client, choose: Choose, id: str, playing: set[str]) -> None:
    try:
        while not (game := client.game(id)).over:
            try:
                for turn in game.turns():
                    client.move(id, turn.ply, turn.actions[choose(turn)])
            except ApiError as error:
                if error.status not in (0, 409):  # lost, or the game went on
                    raise
    except Exception:  # one game must not end the others
        _log.exception("Game %s failed", id)
    finally:
        playing.discard(id)
