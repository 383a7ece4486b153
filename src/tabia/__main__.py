"""`python -m tabia` is the command `tabia`."""

from tabia.cli import interrupts


def run() -> None:
    """The entry point of the installed command."""
    interrupts.install()  # first of all: the imports below take long enough for a Ctrl-C
    from tabia.cli.main import run as run_command

    run_command()


if __name__ == "__main__":
    run()
