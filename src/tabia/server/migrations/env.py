"""Runs the migrations on the connection that the store hands over."""

from alembic import context

from tabia.server.store import metadata

if __name__ == "env_py":  # as Alembic runs it; there is nothing to do for anyone who imports it
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
