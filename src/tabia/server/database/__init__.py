"""The database: schema, migrations, games."""
