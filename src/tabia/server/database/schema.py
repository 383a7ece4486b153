"""The tables. Times are ISO 8601 in UTC with milliseconds; JSON is text, so that both databases hold the same bytes.

A game refers to people in `seats` only. `results` and `ratings` are written in the transaction of the move that ended
a rated game.
"""

from __future__ import annotations

import sqlalchemy as sql

metadata = sql.MetaData()

_ID = sql.String(32)
_TIME = sql.String(40)
_HASH = sql.String(64)  # hexadecimal SHA-256

games = sql.Table(
    "games",
    metadata,
    sql.Column("id", _ID, primary_key=True),
    sql.Column("game", sql.String(400), nullable=False),
    sql.Column("rules", sql.Integer, nullable=False),  # the version of the game's rules
    sql.Column("seed", sql.Integer, nullable=False),
    sql.Column("seats", sql.Text, nullable=False),  # JSON: kind and agent of each seat, never a person
    sql.Column("opening", sql.Integer, nullable=False),
    sql.Column("created", _TIME, nullable=False, index=True),
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("resigned", sql.Integer, nullable=True),
    sql.Column("plies", sql.Integer, nullable=False),
    sql.Column("result", sql.Text, nullable=True),  # JSON, once the game is over
    sql.Column("visibility", sql.String(16), nullable=False, server_default="private"),  # private or link
    sql.Column("rated", sql.Boolean, nullable=False, server_default=sql.false()),
    sql.Column("clock", sql.Text, nullable=True),  # JSON: initial_s and increment_s
    sql.Column("clocks", sql.Text, nullable=True),  # JSON: remaining ms of each seat, as of the last move
    sql.Column("turn_started", _TIME, nullable=True),
    sql.Column("ended_by", sql.String(16), nullable=True),  # rules, resignation, time, abandonment, agreement
    sql.Column("finished", sql.Integer, nullable=True),  # 1, 2, ... in the order in which games ended
    sql.Column("finished_at", _TIME, nullable=True),
    sql.Column("invite_hash", _HASH, nullable=True),  # of the secret link for an open seat
    sql.Index("ix_games_finished", "finished", unique=True),
    sql.Index("ix_games_invite_hash", "invite_hash", unique=True),
)
moves = sql.Table(
    "moves",
    metadata,
    sql.Column("game_id", _ID, sql.ForeignKey("games.id"), primary_key=True),
    sql.Column("ply", sql.Integer, primary_key=True),
    sql.Column("action", sql.Integer, nullable=False),
)
people = sql.Table(
    "people",
    metadata,
    sql.Column("id", _ID, primary_key=True),
    sql.Column("name", sql.String(40), nullable=False),
    sql.Column("name_key", sql.String(80), nullable=True, unique=True),  # null for guests
    sql.Column("password", sql.String(200), nullable=True),  # an Argon2 hash; null for guests and bots
    sql.Column("role", sql.String(16), nullable=False),
    sql.Column("owner_id", _ID, sql.ForeignKey("people.id"), nullable=True, index=True),  # of a bot
    sql.Column("created", _TIME, nullable=False),
    sql.Column("banned", _TIME, nullable=True),
)
seats = sql.Table(
    "seats",
    metadata,
    sql.Column("game_id", _ID, sql.ForeignKey("games.id"), primary_key=True),
    sql.Column("seat", sql.Integer, primary_key=True),
    sql.Column("person_id", _ID, sql.ForeignKey("people.id"), nullable=True, index=True),
    sql.Column("name", sql.String(40), nullable=True),
)
sessions = sql.Table(
    "sessions",
    metadata,
    sql.Column("id_hash", _HASH, primary_key=True),
    sql.Column("person_id", _ID, sql.ForeignKey("people.id"), nullable=False, index=True),
    sql.Column("created", _TIME, nullable=False),
    sql.Column("seen", _TIME, nullable=False),
)
tokens = sql.Table(
    "tokens",
    metadata,
    sql.Column("id", _ID, primary_key=True),
    sql.Column("hash", _HASH, nullable=False, unique=True),
    sql.Column("person_id", _ID, sql.ForeignKey("people.id"), nullable=False, index=True),
    sql.Column("label", sql.String(80), nullable=False),
    sql.Column("scopes", sql.Text, nullable=False),  # JSON
    sql.Column("created", _TIME, nullable=False),
    sql.Column("used", _TIME, nullable=True),
)
invites = sql.Table(
    "invites",
    metadata,
    sql.Column("hash", _HASH, primary_key=True),
    sql.Column("created", _TIME, nullable=False),
    sql.Column("expires", _TIME, nullable=False),
    sql.Column("used_by", _ID, sql.ForeignKey("people.id"), nullable=True, index=True),
    sql.Column("used", _TIME, nullable=True),  # stays when the account is deleted
)
attempts = sql.Table(
    "attempts",
    metadata,
    sql.Column("key", _HASH, primary_key=True),  # HMAC of what is throttled: no name, no address
    sql.Column("failures", sql.Integer, nullable=False),
    sql.Column("since", _TIME, nullable=False),  # when counting started
    sql.Column("until", _TIME, nullable=False),  # the next attempt is allowed then
)
ratings = sql.Table(
    "ratings",
    metadata,
    sql.Column("person_id", _ID, sql.ForeignKey("people.id"), primary_key=True),
    sql.Column("game", sql.String(400), primary_key=True),
    sql.Column("rating", sql.Double, nullable=False),
    sql.Column("deviation", sql.Double, nullable=False),
    sql.Column("volatility", sql.Double, nullable=False),
    sql.Column("games", sql.Integer, nullable=False),
    sql.Column("updated", _TIME, nullable=False),
)
results = sql.Table(
    "results",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("game_id", _ID, sql.ForeignKey("games.id"), nullable=False),
    sql.Column("game", sql.String(400), nullable=False),
    sql.Column("finished", sql.Integer, nullable=False, index=True),
    sql.Column("seat", sql.Integer, nullable=False),
    sql.Column("person_id", _ID, sql.ForeignKey("people.id"), nullable=True, index=True),
    sql.Column("opponent_seat", sql.Integer, nullable=False),
    sql.Column("opponent_person", _ID, sql.ForeignKey("people.id"), nullable=True, index=True),
    sql.Column("opponent_agent", sql.String(200), nullable=True),
    sql.Column("opponent_rating", sql.Double, nullable=False),
    sql.Column("opponent_deviation", sql.Double, nullable=False),
    sql.Column("score", sql.Double, nullable=False),
    sql.Column("weight", sql.Double, nullable=False),
    sql.Column("moved_first", sql.Boolean, nullable=False),
    sql.Column("advantage", sql.Double, nullable=False),  # of the seat over the opponent's, in Elo
    sql.Column("rating_before", sql.Double, nullable=False),
    sql.Column("deviation_before", sql.Double, nullable=False),
    sql.Column("rating_after", sql.Double, nullable=False),
    sql.Column("deviation_after", sql.Double, nullable=False),
    # A pair of seats of a game counts once, even if its transaction is tried again.
    sql.UniqueConstraint("game_id", "seat", "opponent_seat", name="uq_results_pair"),
)
settings = sql.Table(
    "settings",
    metadata,
    sql.Column("key", sql.String(80), primary_key=True),
    sql.Column("value", sql.Text, nullable=False),
)
