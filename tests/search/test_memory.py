"""Memory limits: a search that does not fit is refused before it runs, with the settings that fit."""

from __future__ import annotations

import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import pytest

from tabia import games
from tabia.search import Gumbel, Omc, Puct, Search, SearchError, Uct, layout, memory
from tabia.search.evaluators import Rollout, Uniform, WinningMovesFirst
from tabia.search.memory import Limit, Need
from tabia.search.minimax import Minimax
from tabia.search.rules.gumbel import halving_schedule
from tabia.search.search import init_tree

from .positions import random_positions
from .toy_games import Dice

CONNECT3 = games.make("connect3")
KEY = jax.random.key(0)


def tree_of(search: Search, batch: int) -> Any:
    """The shapes of the trees of a search of `batch` positions."""
    states = jax.eval_shape(lambda: jax.vmap(search.game.init)(jax.random.split(KEY, batch)))
    return jax.eval_shape(lambda states: init_tree(search, None, states, KEY), states)


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("connect3", {}),
        ("tictactoe", {"rule": Gumbel()}),
        ("othello", {"rule": Omc()}),
        ("connect3", {"transpositions": True}),
        ("connect3", {"cut_loops": True, "reuse_nodes": 5}),
        ("chinese-checkers", {"leaves": 4}),
        (Dice(), {"outcomes": 7}),
    ],
    ids=["plain", "gumbel", "squares", "totals and prints", "kept", "wide", "chance"],
)
@pytest.mark.parametrize("simulations", [4, 400])
def test_estimate_is_close_to_the_size_of_the_trees(game: Any, options: dict[str, Any], simulations: int) -> None:
    game = games.make(game) if isinstance(game, str) else game
    search = Search(game, Uniform(game), simulations, **{"rule": Puct(), **options})
    for batch in (1, 16):
        estimate = sum(need.bytes for need in layout.needs(search, batch))
        trees = memory.nbytes(tree_of(search, batch))
        paths = 16 * batch * search.leaves * search.depth
        assert trees <= estimate <= trees + paths + 4 * batch * (simulations + 1)


def test_trees_have_the_size_of_their_shapes() -> None:
    search = Search(CONNECT3, Uniform(CONNECT3), 32)
    result = search.run(None, random_positions(CONNECT3, 4, seed=1, most_moves=4), KEY)
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(result.tree))
    assert held == memory.nbytes(tree_of(search, 4))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """A machine with 2 MB, half of which may be used."""
    monkeypatch.setattr(memory, "device_memory", lambda: 2_000_000)
    return 1_000_000


def number_after(words: str, text: str) -> int:
    found = re.search(words + r" ([\d,]+)", text)
    assert found, text
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("leaves", [1, 8])
def test_suggested_simulations_fit_and_a_fifth_more_do_not(small: int, leaves: int) -> None:
    def search(simulations: int) -> Search:
        return Search(CONNECT3, Uniform(CONNECT3), simulations, leaves=leaves)

    with pytest.raises(
        SearchError, match=r"simulations=1,000,000 needs about .* MB .*; the limit is 1\.0 MB"
    ) as refusal:
        search(1_000_000)
    most = number_after("simulations can be at most", str(refusal.value))
    assert most % leaves == 0
    search(most)
    with pytest.raises(SearchError):
        search(most * 6 // 5 // leaves * leaves)
    with pytest.raises(SearchError, match="for the trees of 64 positions") as refusal:
        layout.check(search(most), 64)
    fewer = number_after("simulations can be at most", str(refusal.value))
    layout.check(search(fewer), 64)
    batch = number_after("A batch of", str(layout_error(search(most // 4 // leaves * leaves), 64)))
    layout.check(search(most // 4 // leaves * leaves), batch)
    with pytest.raises(SearchError):
        layout.check(search(most // 4 // leaves * leaves), 4 * batch)


def layout_error(search: Search, batch: int) -> SearchError:
    with pytest.raises(SearchError) as refusal:
        layout.check(search, batch)
    return refusal.value


def test_refused_before_compilation(small: int) -> None:
    search = Search(CONNECT3, Uniform(CONNECT3), 4000)
    states = random_positions(CONNECT3, 32, seed=1, most_moves=4)
    with pytest.raises(SearchError, match="for the trees of 32 positions"):
        search.run_unchecked(None, states, KEY)
    with pytest.raises(SearchError, match="for the trees of 32 positions"):  # while tracing another program
        jax.jit(lambda states: search.run_unchecked(None, states, KEY)).lower(states)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda g: Search(g, Uniform(g), 10**9), "simulations=1,000,000,000 needs about"),
        (lambda g: Search(g, Uniform(g), 10**300, Gumbel()), r"simulations=1\.0e\+300 needs about"),
        (lambda g: Search(g, Uniform(g), 10**9, leaves=10**9), "leaves=1,000,000,000 needs about .* would fit"),
        (lambda g: Search(g, Rollout(g, 10**10), 8, Uct()), "rollouts=10,000,000,000 .* rollouts can be at most"),
        (lambda g: Search(g, WinningMovesFirst(g, Rollout(g, 10**10)), 8), "rollouts=10,000,000,000"),
        (lambda g: Search(g, Uniform(g), 8, reuse_nodes=10**9), "reuse_nodes=1,000,000,000 needs about"),
        (lambda g: Minimax(games.make("connect4"), 50), r"7\^42 lines .* depth can be at most 13"),
        (lambda g: Minimax(games.make("chinese-checkers"), 10**300), "depth can be at most"),
    ],
    ids=["simulations", "1e300", "leaves", "rollouts", "inside", "reuse_nodes", "depth", "depth of many moves"],
)
def test_huge_sizes_are_refused_at_once(build: Any, words: str) -> None:
    started = time.process_time()
    with pytest.raises(SearchError, match=words) as refusal:
        build(CONNECT3)
    assert time.process_time() - started < 5  # about a second on an idle machine
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 300


def test_nodes_are_limited_to_exact_float32_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "device_memory", lambda: 10**15)
    assert float(jax.numpy.float32(layout.MOST_NODES) + 1) == layout.MOST_NODES
    Search(CONNECT3, Uniform(CONNECT3), layout.MOST_NODES - 1)
    with pytest.raises(SearchError, match="at most 16,777,216 nodes"):
        Search(CONNECT3, Uniform(CONNECT3), layout.MOST_NODES)


def test_minimax_depth_is_limited_by_the_longest_game() -> None:
    """Both are the same program; otherwise a depth of a million would be a million levels of code."""
    game = games.make("connect:rows=2,columns=2,line=2")
    states = random_positions(game, 2, seed=0, most_moves=1)
    deep, exact = (
        str(jax.make_jaxpr(Minimax(game, depth).run_unchecked)(states, KEY)) for depth in (10**6, game.max_moves)
    )
    strip = partial(re.sub, "0x[0-9a-f]+", "")
    assert strip(deep) == strip(exact)


def test_schedule_of_many_simulations_is_computed_on_the_device() -> None:
    shape = jax.eval_shape(lambda legal: halving_schedule(10**9, legal, 10**7), jax.ShapeDtypeStruct((4, 7), bool))
    assert shape.shape == (10**7, 4)


def cgroups(root: Path, text: str, files: dict[str, str]) -> int:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(text)
    for name, content in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return memory.machine_memory(root)


@pytest.mark.parametrize(
    ("text", "files", "limit"),
    [
        ("0::/jobs/one\n", {"jobs/one/memory.max": "max\n", "jobs/memory.max": "3000000\n"}, 3_000_000),
        ("0::/\n", {"memory.max": "5000\n"}, 5_000),
        ("4:cpu,memory:/docker/x\n0::/\n", {"memory/docker/x/memory.limit_in_bytes": "7000\n"}, 7_000),
        ("4:memory:/hidden\n", {"memory/memory.limit_in_bytes": "8000\n"}, 8_000),
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ("0::/a\n", {"a/memory.max": "max\n"}, None),
        ("nonsense\n", {}, None),
    ],
    ids=["parent", "container", "v1", "v1 in a container", "v1 unlimited", "v2 unlimited", "nonsense"],
)
def test_cgroup_limits(tmp_path: Path, text: str, files: dict[str, str], limit: int | None) -> None:
    physical = memory.machine_memory(tmp_path)  # no cgroups there yet
    assert cgroups(tmp_path, text, files) == (limit or physical)


def test_fraction_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 4_000_000)
    assert memory.machine_limit().bytes == 2_000_000
    monkeypatch.setenv("TABIA_MEMORY_FRACTION", "0.25")
    assert memory.machine_limit().bytes == 1_000_000 and "25% of this machine's memory" in str(memory.machine_limit())
    for text in ("0", "1.5", "-1", "nan", "much", ""):
        monkeypatch.setenv("TABIA_MEMORY_FRACTION", text)
        with pytest.raises(SearchError, match="a number above 0 and up to 1"):
            memory.machine_limit()


def test_device_memory_is_used_if_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gpu:
        platform = "gpu"

        def memory_stats(self) -> dict[str, int]:
            return {"bytes_limit": 6_000_000, "bytes_in_use": 1}

    monkeypatch.setattr(jax, "devices", lambda: [Gpu()])
    assert memory.device_limit() == Limit(3_000_000, 0.5, "the GPU's")


def test_needs_that_fit_only_separately_are_refused() -> None:
    needs = [Need("simulations", 100, 600, "for trees"), Need("rollouts", 50, 500, "for games")]
    assert memory.shortage(needs, Limit(1_100, 0.5, "this machine's")) is None
    text = memory.shortage(needs, Limit(1_000, 0.5, "this machine's"))
    assert text is not None and "1.1 kB in total" in text and "simulations can be at most 83." in text
