"""Games and their moves."""

import sqlalchemy as sql
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "games",
        sql.Column("id", sql.String(32), primary_key=True),
        sql.Column("game", sql.String(400), nullable=False),
        sql.Column("rules", sql.Integer, nullable=False),
        sql.Column("seed", sql.Integer, nullable=False),
        sql.Column("seats", sql.Text, nullable=False),
        sql.Column("opening", sql.Integer, nullable=False),
        sql.Column("created", sql.String(40), nullable=False, index=True),
        sql.Column("version", sql.Integer, nullable=False),
        sql.Column("resigned", sql.Integer, nullable=True),
        sql.Column("plies", sql.Integer, nullable=False),
        sql.Column("result", sql.Text, nullable=True),
    )
    op.create_table(
        "moves",
        sql.Column("game_id", sql.String(32), sql.ForeignKey("games.id"), primary_key=True),
        sql.Column("ply", sql.Integer, primary_key=True),
        sql.Column("action", sql.Integer, nullable=False),
    )


def downgrade() -> None:
    """Drop both tables."""
    op.drop_table("moves")
    op.drop_table("games")
