"""Trace which modules of tabia a command visits: a measure of how often a reader has to turn to another file.

    python tools/trace_modules.py                          # tabia train, analyze (one search) and match
    python tools/trace_modules.py search --within tabia.search
    PYTHONPATH=other/src python tools/trace_modules.py     # another version of the package

The settings of the tiny run can be replaced with `--set`, for versions with other configuration keys.

Every scenario runs in a fresh process under `sys.setprofile`, in all threads. The trace is the sequence of functions of
tabia in the order of their first call, each listed once: the order in which somebody would read them who follows the
execution. Tracing by JAX calls Python functions, so jitted functions are included; repeated calls are not, whether
in a Python loop or from a cached program. Code at module level, lambdas, comprehensions and generated methods do not
count.

- A *module* is a file of the package with at least one function in the trace.
- A *hop* is a pair of consecutive functions in the trace that lie in different modules.
- A *return* is a hop to a module that the trace had entered before. So returns = hops - (modules - 1).

`--within PACKAGE` restricts the trace to one package, such as tabia.search.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import itertools
import multiprocessing
import os
import pkgutil
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

TINY = (
    "iterations=2",
    "minutes=0",
    "selfplay.games=8",
    "search.simulations=4",
    "learner.batch_size=32",
    "replay.min_positions=32",
    "evaluation.games=4",
)
SCENARIOS = {
    "train": ["train", "tictactoe"],
    "search": ["analyze", "connect3", "--player", "mcts:simulations=8", "--json"],
    "match": ["match", "connect3", "random", "greedy", "--games", "4", "--json"],
}


class Trace:
    """The functions of a package in the order of their first call."""

    def __init__(self, root: Path) -> None:
        self.functions: list[tuple[str, str]] = []  # module and qualified name
        self._root, self._seen = str(root), set[CodeType]()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in self._seen:
            return
        self._seen.add(code)
        if code.co_filename.startswith(self._root) and not code.co_name.startswith("<"):
            self.functions.append((frame.f_globals["__name__"], code.co_qualname))


def run_traced(words: list[str]) -> Trace:
    """Run one command of tabia in this process."""
    found = importlib.util.find_spec("tabia")
    assert found is not None and found.origin is not None
    root = Path(found.origin).parent
    for _, name, _ in pkgutil.walk_packages([str(root)], "tabia."):  # so that imports are not part of the trace
        if not name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # of an optional dependency
                importlib.import_module(name)
    trace, app = Trace(root), sys.modules["tabia.cli.main"].app
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        status = app(words, standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if status:
        sys.exit(status)
    return trace


def trace_and_print(name: str, words: list[str], within: str) -> None:
    """Trace one command, without its own output, and print the report."""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        functions = run_traced(words).functions
    print(report(name, [one for one in functions if one[0] == within or one[0].startswith(f"{within}.")]), flush=True)


def report(title: str, functions: list[tuple[str, str]]) -> str:
    """The numbers of a trace, and its modules in the order of first entry."""
    visits = [module for module, _ in itertools.groupby(module for module, _ in functions)]
    entered, sizes = Counter(visits), Counter(module for module, _ in functions)
    hops = max(len(visits) - 1, 0)
    returns = hops - max(len(entered) - 1, 0)
    lines = [f"{title}: {len(entered)} modules, {len(functions)} functions, {hops} hops, {returns} returns"]
    lines += [
        f"  {number:3} {module} ({sizes[module]} functions, entered {entered[module]} times)"
        for number, module in enumerate(entered, start=1)
    ]
    return "\n".join(lines)


def main() -> None:
    """Trace the scenarios given on the command line, each in a process of its own."""
    parser = argparse.ArgumentParser(description="Trace which modules of tabia a command visits.")
    parser.add_argument("scenarios", nargs="*", help=f"{', '.join(SCENARIOS)}; by default all")
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="a setting of train, instead of the tiny run"
    )
    parser.add_argument("--within", default="tabia", metavar="PACKAGE", help="only modules of this package")
    arguments = parser.parse_args()
    names = arguments.scenarios or list(SCENARIOS)
    if unknown := set(names) - set(SCENARIOS):
        parser.error(f"unknown scenario {min(unknown)}; known: {', '.join(SCENARIOS)}")
    spawn = multiprocessing.get_context("spawn")
    for name in names:
        words = list(SCENARIOS[name])
        with tempfile.TemporaryDirectory() as folder:
            if name == "train":
                words += ["--out", f"{folder}/run", *(word for one in arguments.set or TINY for word in ("--set", one))]
            process = spawn.Process(target=trace_and_print, args=(name, words, arguments.within))
            process.start()
            process.join()
        if process.exitcode:
            sys.exit(f"{name} failed: tabia {' '.join(words)}")


if __name__ == "__main__":
    main()
