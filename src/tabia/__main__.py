"""`python -m tabia` runs the `tabia` command."""

from tabia.cli import interrupts


def run() -> None:
    """The entry point of the installed command."""
    interrupts.install()  # first, because Ctrl-C may arrive during the imports below
    from tabia.cli.main import run as run_command

    run_command()


if __name__ == "__main__":
    run()
