"""People, their sessions and tokens, ratings; games with visibility, clocks and the order in which they ended."""

import sqlalchemy as sql
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID, TIME, HASH = sql.String(32), sql.String(40), sql.String(64)


def upgrade() -> None:
    """Add the columns of games, number the finished ones, create the other tables."""
    _extend_games()
    _number_finished_games()
    _create_people()
    _create_ratings()
    op.create_table(
        "settings",
        sql.Column("key", sql.String(80), primary_key=True),
        sql.Column("value", sql.Text, nullable=False),
    )


def _extend_games() -> None:
    for column in (
        sql.Column("visibility", sql.String(16), nullable=False, server_default="private"),
        sql.Column("rated", sql.Boolean, nullable=False, server_default=sql.false()),
        sql.Column("clock", sql.Text, nullable=True),
        sql.Column("clocks", sql.Text, nullable=True),
        sql.Column("turn_started", TIME, nullable=True),
        sql.Column("ended_by", sql.String(16), nullable=True),
        sql.Column("finished", sql.Integer, nullable=True),
        sql.Column("finished_at", TIME, nullable=True),
        sql.Column("invite_hash", HASH, nullable=True),
    ):
        op.add_column("games", column)
    op.create_index("ix_games_finished", "games", ["finished"], unique=True)
    op.create_index("ix_games_invite_hash", "games", ["invite_hash"], unique=True)


def _number_finished_games() -> None:
    """In the order in which they were created: when they ended was not stored."""
    op.execute("UPDATE games SET ended_by = 'resignation' WHERE result IS NOT NULL AND resigned IS NOT NULL")
    op.execute("UPDATE games SET ended_by = 'rules' WHERE result IS NOT NULL AND resigned IS NULL")
    op.execute(
        "UPDATE games SET finished_at = created, finished = (SELECT count(*) FROM games AS earlier WHERE "
        "earlier.result IS NOT NULL AND (earlier.created < games.created OR "
        "(earlier.created = games.created AND earlier.id <= games.id))) WHERE result IS NOT NULL"
    )


def _create_people() -> None:
    op.create_table(
        "people",
        sql.Column("id", ID, primary_key=True),
        sql.Column("name", sql.String(40), nullable=False),
        sql.Column("name_key", sql.String(80), nullable=True, unique=True),
        sql.Column("password", sql.String(200), nullable=True),
        sql.Column("role", sql.String(16), nullable=False),
        sql.Column("owner_id", ID, sql.ForeignKey("people.id"), nullable=True, index=True),
        sql.Column("created", TIME, nullable=False),
        sql.Column("banned", TIME, nullable=True),
    )
    op.create_table(
        "seats",
        sql.Column("game_id", ID, sql.ForeignKey("games.id"), primary_key=True),
        sql.Column("seat", sql.Integer, primary_key=True),
        sql.Column("person_id", ID, sql.ForeignKey("people.id"), nullable=True, index=True),
        sql.Column("name", sql.String(40), nullable=True),
    )
    op.create_table(
        "sessions",
        sql.Column("id_hash", HASH, primary_key=True),
        sql.Column("person_id", ID, sql.ForeignKey("people.id"), nullable=False, index=True),
        sql.Column("created", TIME, nullable=False),
        sql.Column("seen", TIME, nullable=False),
    )
    op.create_table(
        "tokens",
        sql.Column("id", ID, primary_key=True),
        sql.Column("hash", HASH, nullable=False, unique=True),
        sql.Column("person_id", ID, sql.ForeignKey("people.id"), nullable=False, index=True),
        sql.Column("label", sql.String(80), nullable=False),
        sql.Column("scopes", sql.Text, nullable=False),
        sql.Column("created", TIME, nullable=False),
        sql.Column("used", TIME, nullable=True),
    )
    op.create_table(
        "invites",
        sql.Column("hash", HASH, primary_key=True),
        sql.Column("created", TIME, nullable=False),
        sql.Column("expires", TIME, nullable=False),
        sql.Column("used_by", ID, sql.ForeignKey("people.id"), nullable=True, index=True),
        sql.Column("used", TIME, nullable=True),
    )
    op.create_table(
        "attempts",
        sql.Column("key", HASH, primary_key=True),
        sql.Column("failures", sql.Integer, nullable=False),
        sql.Column("since", TIME, nullable=False),
        sql.Column("until", TIME, nullable=False),
    )


def _create_ratings() -> None:
    op.create_table(
        "ratings",
        sql.Column("person_id", ID, sql.ForeignKey("people.id"), primary_key=True),
        sql.Column("game", sql.String(400), primary_key=True),
        sql.Column("rating", sql.Double, nullable=False),
        sql.Column("deviation", sql.Double, nullable=False),
        sql.Column("volatility", sql.Double, nullable=False),
        sql.Column("games", sql.Integer, nullable=False),
        sql.Column("updated", TIME, nullable=False),
    )
    op.create_table(
        "results",
        sql.Column("id", sql.Integer, primary_key=True, autoincrement=True),
        sql.Column("game_id", ID, sql.ForeignKey("games.id"), nullable=False),
        sql.Column("game", sql.String(400), nullable=False),
        sql.Column("finished", sql.Integer, nullable=False, index=True),
        sql.Column("seat", sql.Integer, nullable=False),
        sql.Column("person_id", ID, sql.ForeignKey("people.id"), nullable=True, index=True),
        sql.Column("opponent_seat", sql.Integer, nullable=False),
        sql.Column("opponent_person", ID, sql.ForeignKey("people.id"), nullable=True, index=True),
        sql.Column("opponent_agent", sql.String(200), nullable=True),
        sql.Column("opponent_rating", sql.Double, nullable=False),
        sql.Column("opponent_deviation", sql.Double, nullable=False),
        sql.Column("score", sql.Double, nullable=False),
        sql.Column("weight", sql.Double, nullable=False),
        sql.Column("moved_first", sql.Boolean, nullable=False),
        sql.Column("advantage", sql.Double, nullable=False),
        sql.Column("rating_before", sql.Double, nullable=False),
        sql.Column("deviation_before", sql.Double, nullable=False),
        sql.Column("rating_after", sql.Double, nullable=False),
        sql.Column("deviation_after", sql.Double, nullable=False),
        sql.UniqueConstraint("game_id", "seat", "opponent_seat", name="uq_results_pair"),
    )


def downgrade() -> None:
    """Drop what was added."""
    for table in ("settings", "results", "ratings", "attempts", "invites", "tokens", "sessions", "seats", "people"):
        op.drop_table(table)
    op.drop_index("ix_games_invite_hash", "games")
    op.drop_index("ix_games_finished", "games")
    with op.batch_alter_table("games") as games:
        for column in ("visibility", "rated", "clock", "clocks", "turn_started", "ended_by", "finished"):
            games.drop_column(column)
        games.drop_column("finished_at")
        games.drop_column("invite_hash")
