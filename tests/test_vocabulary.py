"""One word per idea, and it is the field's word: no name in the tree uses a word that was replaced.

Names are split into words at underscores and capitals, so `string` does not contain `ring`. Identifiers come from the
syntax trees, configuration keys from the recipes; prose is not searched, except for the theses' old labels.
"""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

REPLACED = {
    "instinct": "NetworkPlayer",
    "lookahead": "MinimaxPlayer",
    "searcher": "MCTSPlayer",
    "plant": "expand",
    "harvest": "backup",
    "stir": "noise",
    "walk": "select, descend",
    "ring": "replay buffer",
    "lesson": "sample, batch",
    "lessons": "samples, batches",
    "cycle": "iteration",
    "cycles": "iterations",
    "cycled": "on_iteration",
    "ledger": "counters",
    "contest": "arena, gate",
    "told": "to_dict, report, describe",
    "tell": "to_dict, report, describe",
    "tells": "to_dict, report, describe",
    "twin": "reference implementation",
    "yardstick": "reference",
    "judge": "reference, oracle",
    "judges": "references, oracles",
    "room": "package, capacity",
    "rooms": "packages",
    "house": "package",
    "door": "adapter, export",
    "doors": "adapters, exports",
    "sitting": "session",
    "onlooker": "observer",
    "wave": "batch of games",
    "begun": "on_start, started",
    "env": "game",
    "info": "a name for what it holds",
    "utils": "a name for what it holds",
    "helper": "a name for what it does",
    "helpers": "a name for what they do",
    "manager": "a name for what it does",
    "colour": "color",
    "analyse": "analyze",
    "optimiser": "optimizer",
    "normalise": "normalize",
    "behaviour": "behavior",
    "neighbour": "neighbor",
}
"""Each replaced word, and what to write instead."""

PHRASES = {
    "Learned": "TrainState",
    "Finishing": "WinningMovesFirst",
    "grow": "expand",
    "averaged": "ema",
    "last_board": "final_position",
    "board_weight": "final_position_weight",
    "loss_board": "loss_final_position",
    "gate_share": "gate_score",
    "keeps_network": "agreement_network",
    "keeps_searched": "agreement_search",
    "opening_among": "opening_candidates",
    "revisit_among": "revisit_candidates",
    "noise_total": "dirichlet_total",
    "noise_alpha": "dirichlet_alpha",
    "gumbel_noise": "gumbel_scale",
    "visit_offset": "maxvisit_init",
    "full_share": "full_search_fraction",
    "resign_checked": "resign_disabled_fraction",
    "search_share": "search_value_weight",
    "rate_end": "learning_rate_end",
    "warm_up": "warmup_steps",
}
"""Whole names that were replaced; their words alone have other uses."""

OLD_KEYS = {
    "search": {"finish", "considered", "scale", "visit_offset", "gumbel_noise", "noise", "full_share"},
    "selfplay": {"opened", "opening_among", "revisited", "revisit_among", "explore", "resign", "resign_checked"},
    "targets": {"search_share", "decay"},
    "replay": {"sessions", "start"},
    "learner": {"batch", "rate", "schedule", "rate_end", "drops", "warm_up", "clip", "average", "board_weight"},
    "network": {"last_board"},
    "": {"cycles"},
}

ALLOWED = {
    # The environments of Gymnasium, PettingZoo and pgx; in other tests, the environment variables of a subprocess.
    "env": ("adapters/", "exports/", "benchmarks/", "tests/"),
    # What a Gymnasium environment returns beside an observation.
    "info": ("exports/", "tests/games/test_exports"),
    # A circle drawn around a piece, and toy games on a ring of fields.
    "ring": ("games/drawing.py", "tests/search/"),
}
"""Words with a second, proper use: a reason, and the places where it applies."""

SKIPPED = ("tests/test_vocabulary.py",)
ANSWERS_OLD_NAMES = {
    # Old settings and player options are answered with their new names, and old weights still load; here, and tested.
    "src/tabia/training/config/toml.py",
    "src/tabia/players/spec.py",
    "src/tabia/networks/manifest.py",
    "tests/cli/test_train.py",
    "tests/networks/test_weights.py",
    "tests/players/test_spec.py",
    "CHANGELOG.md",
}


def files(*suffixes: str) -> list[Path]:
    """The tracked files with one of some endings."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.splitlines() if name.endswith(suffixes) and name not in SKIPPED]
    names = [name for name in names if "/vendor/" not in name]  # named by others
    return [Path(name) for name in names if (ROOT / name).exists()]


def words(name: str) -> list[str]:
    """`MCTSPlayer_two` is mcts, player, two."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def wrong(name: str, where: str) -> str | None:
    """What is wrong with a name at a place, or None."""
    if name in PHRASES:
        return f"{where}: {name} -> {PHRASES[name]}"
    for word in words(name):
        if word in REPLACED and not any(place in where for place in ALLOWED.get(word, ())):
            return f"{where}: {name} -> {REPLACED[word]}"
    return None


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that a module defines, assigns or passes by keyword, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno


def keys(tables: dict[str, Any], section: str = "") -> Iterator[tuple[str, str]]:
    for name, value in tables.items():
        path, _, key = name.rpartition(".")
        yield path or section, key
        if isinstance(value, dict):
            yield from keys(value, name if name != "schedule" else "")


def test_names_split_into_words() -> None:
    assert words("MCTSPlayer_twoSeats2") == ["mcts", "player", "two", "seats", "2"]
    assert wrong("string", "x.py") is None and wrong("ReplayRing", "x.py") and wrong("last_board", "x.py")


def test_no_identifier_uses_a_replaced_word() -> None:
    found = []
    for file in files(".py"):
        for name, line in identifiers(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            found.append(wrong(name, f"{file}:{line}"))
    assert not (listed := sorted(set(filter(None, found)))), "\n".join(["", *listed])


def test_no_file_or_recipe_is_named_by_a_replaced_word() -> None:
    found = [wrong(part, str(file)) for file in files("") for part in Path(file).with_suffix("").parts]
    assert not (listed := sorted(set(filter(None, found)))), "\n".join(["", *listed])


def test_recipes_use_the_new_keys() -> None:
    found = []
    for file in files(".toml"):
        if "recipes" in file.parts:
            tables = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))
            found += [f"{file}: {section}.{key}" for section, key in keys(tables) if key in OLD_KEYS.get(section, ())]
    assert not found, "\n".join(["", *found])


def test_the_theses_are_named_by_author_and_year() -> None:
    """S1 to S5 were their labels; digits after an S in data, such as coordinates, are not."""
    label = re.compile(r"\bS[1-5]\b(?!\w)")
    found = []
    for file in files(".py", ".md", ".toml"):
        for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), start=1):
            if label.search(line):
                found.append(f"{file}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(["", *found])


def test_no_page_or_help_shows_an_old_option() -> None:
    """Commands and settings in the pages, the recipes and the code use today's names."""
    old = re.compile(
        r"\bfinish=|[,:]considered=|[,:]select=|tabia analyse\b|--cycles\b|\b\w+\.(?:last_board|board_weight)\b"
    )
    found = []
    for file in files(".md", ".py", ".toml"):
        if file.as_posix() not in ANSWERS_OLD_NAMES:
            for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), start=1):
                if old.search(line):
                    found.append(f"{file}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(["", *found])
