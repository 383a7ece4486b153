"""`python -m tabia` is the command `tabia`."""

from tabia.cli.main import run

if __name__ == "__main__":
    run()
