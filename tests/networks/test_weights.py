"""Weights files: round trips, errors for damaged and foreign files, and no way to run code."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from tabia.networks import Network, Variables, WeightsError
from tabia.networks.presets import glimmerfors, tower
from tabia.networks.weights import load, read_manifest, save

from .zoo import ZOO, trained

NETWORK = Network(tower(4, 1), (3, 3, 2), 9, 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "weights.safetensors"


@pytest.fixture
def saved(path: Path) -> bytes:
    """A valid file, for tests to damage."""
    save(path, NETWORK, trained(NETWORK), {"game": "tictactoe"})
    return path.read_bytes()


def same(one: Any, two: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    return jax.tree.structure(one) == jax.tree.structure(two) and all(
        a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs
    )


@pytest.mark.parametrize("name", ZOO)
def test_round_trip(name: str, path: Path) -> None:
    network, variables = ZOO[name], trained(ZOO[name])
    save(path, network, variables, {"game": "connect4", "version": 1, "step": 500, "rates": [0.1, None]})
    again, weights, metadata = load(path)
    assert again == network
    assert isinstance(weights, Variables)
    assert same(weights, variables)
    assert same(load(path).variables, variables)
    assert metadata == {"game": "connect4", "version": 1, "step": 500, "rates": [0.1, None]}


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_folded_weights_keep_their_types(dtype: Any, path: Path) -> None:
    folded = NETWORK.fold(trained(NETWORK), dtype)
    save(path, NETWORK, folded)
    assert same(load(path).weights, folded)
    with pytest.raises(WeightsError, match="for inference only"):
        _ = load(path).variables


@pytest.mark.parametrize("store", ["float16", "bfloat16"])
def test_half_precision_halves_the_file_and_is_float32_again(store: str, path: Path, saved: bytes) -> None:
    variables = trained(NETWORK)
    save(path, NETWORK, variables, store=store)
    numbers = sum(leaf.size for leaf in jax.tree.leaves(variables))
    assert len(saved) - path.stat().st_size > 1.9 * numbers
    expected = jax.tree.map(lambda leaf: leaf.astype(store).astype(jnp.float32), variables)
    assert same(load(path).weights, expected)


def test_eight_bits_move_no_weight_by_more_than_half_a_step_of_its_channel(path: Path, saved: bytes) -> None:
    variables = trained(NETWORK)
    save(path, NETWORK, variables, store="int8")
    kernels = sum(leaf.size for leaf in jax.tree.leaves(variables) if leaf.ndim > 1)
    assert len(saved) - path.stat().st_size > 2.5 * kernels  # one byte instead of four, less the scales
    for before, after in zip(jax.tree.leaves(variables), jax.tree.leaves(load(path).variables), strict=True):
        assert after.dtype == jnp.float32
        if before.ndim == 1:
            np.testing.assert_array_equal(after, before.astype(jnp.float16))
            continue
        step = np.abs(before).max(axis=tuple(range(before.ndim - 1))) / 127
        assert (np.abs(after - before) <= 0.5001 * step).all()  # 0.0001: rounding in float32


@pytest.mark.parametrize("name", ["mixer", "attention", "gated"])
def test_every_body_in_eight_bits_and_folded(name: str, path: Path) -> None:
    network, variables = ZOO[name], trained(ZOO[name])
    folded = network.fold(variables)
    save(path, network, folded)
    assert same(load(path).weights, folded)
    save(path, network, variables, store="int8")
    for before, after in zip(jax.tree.leaves(variables), jax.tree.leaves(load(path).variables), strict=True):
        step = np.abs(before).max(axis=tuple(range(before.ndim - 1))) / 127 if before.ndim > 1 else np.abs(before) / 500
        assert (np.abs(after - before) <= 0.5001 * step).all()  # float16 has 11 bits, so less than 1/1000 is lost


def test_eight_bits_keep_zeros_and_their_own_rounding(path: Path) -> None:
    variables = trained(NETWORK)
    variables.params["stem"]["linear"]["kernel"] = variables.params["stem"]["linear"]["kernel"].at[..., 0].set(0.0)
    save(path, NETWORK, variables, store="int8")
    once = load(path).variables
    assert not once.params["stem"]["linear"]["kernel"][..., 0].any()
    before = path.read_bytes()
    save(path, NETWORK, once, store="int8")
    assert path.read_bytes() == before  # stored again, nothing moves


def test_equal_weights_make_equal_files(path: Path, saved: bytes) -> None:
    save(path, NETWORK, trained(NETWORK), {"game": "tictactoe"})
    assert path.read_bytes() == saved


def test_other_safetensors_readers_can_read_it(path: Path, saved: bytes) -> None:
    tensors = safetensors.numpy.load_file(path)
    np.testing.assert_array_equal(tensors["stem.linear.kernel"], trained(NETWORK).params["stem"]["linear"]["kernel"])


def test_a_manifest_is_read_without_the_tensors(path: Path, saved: bytes) -> None:
    manifest = read_manifest(path)
    assert manifest.network == NETWORK
    assert manifest.metadata == {"game": "tictactoe"}
    assert manifest.tensors["stem.linear.kernel"].shape == (3, 3, 2, 4)


def test_a_failed_save_keeps_the_old_file(path: Path, saved: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("os.fsync", "pathlib.Path.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(step, _fails)
            with pytest.raises(WeightsError, match="cannot be written: No space left"):
                save(path, NETWORK, NETWORK.init(jax.random.key(1)))
        assert path.read_bytes() == saved
        assert list(path.parent.iterdir()) == [path]


def _fails(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_every_truncation_is_detected(path: Path, saved: bytes) -> None:
    for length in [*range(0, len(saved), 97), len(saved) - 1]:
        path.write_bytes(saved[:length])
        with pytest.raises(WeightsError, match=r"cut short|not a safetensors file|not JSON"):
            load(path)


def test_every_flipped_bit_is_detected(path: Path, saved: bytes) -> None:
    """In the tensors; the metadata is not part of the hash."""
    generator = np.random.default_rng(1)
    start = 8 + int.from_bytes(saved[:8], "little")
    for place in generator.integers(start, len(saved), 60):
        damaged = bytearray(saved)
        damaged[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(bytes(damaged))
        with pytest.raises(WeightsError, match="SHA-256"):
            load(path)


class Trap:
    """A malicious pickle: unpickling it calls a function of the writer's choice."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return (exec, ("raise SystemExit('a file ran code')",))


FOREIGN: dict[str, bytes] = {
    "nothing": b"",
    "text": b"these are my weights, trust me",
    "a pickle": pickle.dumps({"stem.linear.kernel": Trap()}),
    "a zip": b"PK\x03\x04" + bytes(200),
    "zeros": bytes(1000),
    "a header of 2^63 bytes": (2**63).to_bytes(8, "little") + b"{}",
    "deep JSON": (60_000).to_bytes(8, "little") + b"[" * 60_000,
    "no JSON": (6).to_bytes(8, "little") + b"{'a':}",
    "a list": (2).to_bytes(8, "little") + b"[]",
    "someone else's tensors": safetensors.numpy.save({"x": np.zeros(3, np.float32)}),
    "metadata of another kind": safetensors.numpy.save({"x": np.zeros(3, np.float32)}, {"tabia": "[1]"}),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_are_refused(kind: str, path: Path) -> None:
    path.write_bytes(FOREIGN[kind])
    with pytest.raises(WeightsError, match=r"is not a valid weights file. It"):
        load(path)


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="cannot be read: No such file"):
        load(tmp_path / "nowhere")
    with pytest.raises(WeightsError, match="cannot be read: it is a directory"):
        load(tmp_path)
    with pytest.raises(WeightsError, match="cannot be written: No such file"):
        save(tmp_path / "no" / "where", NETWORK, trained(NETWORK))


def test_an_oversized_file_is_refused_before_it_is_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(256 * 1024**3)  # a sparse file: no space on disk, but more than all memory
    with pytest.raises(WeightsError, match="more than the 2,147,483,648 allowed"):
        load(path)


def test_the_caller_can_set_the_limit(path: Path, saved: bytes) -> None:
    with pytest.raises(WeightsError, match="more than the 100 allowed"):
        load(path, limit=100)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_not_saved(number: float, path: Path) -> None:
    variables = trained(NETWORK)
    variables.params["stem"]["linear"]["kernel"] = jnp.full((3, 3, 2, 4), number)
    with pytest.raises(WeightsError, match=r"stem\.linear\.kernel contains numbers that are not finite"):
        save(path, NETWORK, variables)
    assert not path.exists()


def test_a_file_with_nan_is_refused(path: Path, saved: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = trained(NETWORK)
    damaged = jax.tree.map(lambda leaf: leaf * np.nan, variables)
    with monkeypatch.context() as patch:
        patch.setattr("tabia.networks.weights._check_finite", lambda name, array: None)
        save(path, NETWORK, damaged)
    with pytest.raises(WeightsError, match="contains numbers that are not finite"):
        load(path)


def test_numbers_too_large_for_half_precision_are_refused(path: Path) -> None:
    variables = jax.tree.map(lambda leaf: leaf + 1e5, trained(NETWORK))
    with pytest.raises(WeightsError, match=r"not finite \(in float16\)"):
        save(path, NETWORK, variables, store="float16")


def test_weights_of_another_network_are_refused(path: Path) -> None:
    other = Network(glimmerfors(4, 2), (3, 3, 2), 9, 2)
    with pytest.raises(WeightsError, match=r"tensor block2.* does not belong"):
        save(path, Network(glimmerfors(4, 1), (3, 3, 2), 9, 2), trained(other))
    with pytest.raises(WeightsError, match=r"tensor block2.* is missing"):
        save(path, other, trained(Network(glimmerfors(4, 1), (3, 3, 2), 9, 2)))
    with pytest.raises(WeightsError, match=r"has the shape .* this network needs"):
        save(path, Network(glimmerfors(5, 2), (3, 3, 2), 9, 2), trained(other))
    assert not path.exists()


def test_metadata_must_be_json(path: Path) -> None:
    for note in (object(), np.float32(1), float("nan"), {1, 2}):
        with pytest.raises(WeightsError, match="The metadata of a weights file must be JSON"):
            save(path, NETWORK, trained(NETWORK), {"note": note})


def test_an_unknown_type_is_refused(path: Path) -> None:
    with pytest.raises(WeightsError, match="float32, float16, bfloat16, int8; got 'int4'"):
        save(path, NETWORK, trained(NETWORK), store="int4")


WRONG: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "format": (lambda m: m.update(format=2), "format is 2; this version of Tabia reads format 1"),
    "no network": (lambda m: m.pop("network"), "manifest is damaged"),
    "unknown option": (lambda m: m["network"]["config"].update(eval="x"), "no setting network.eval"),
    "enormous": (lambda m: m["network"]["config"].update(blocks=10**12), "blocks is a whole number from 0 to 256"),
    "wide": (lambda m: m["network"]["config"].update(filters=16384), "has the shape"),
    "board": (lambda m: m["network"].update(observation_shape=[3, 3]), "rows x columns x planes"),
    "huge board": (lambda m: m["network"].update(observation_shape=[10**9, 10**9, 2]), "has the shape"),
    "text for a number": (lambda m: m["network"].update(num_actions="9"), "expected a whole number"),
    "truth for a number": (lambda m: m["network"].update(num_actions=True), "expected a whole number"),
    "more seats": (lambda m: m["network"].update(num_players=3), "has the shape"),
    "a block more": (lambda m: m["network"]["config"].update(blocks=2), "block2.first.linear.kernel is missing"),
    "a tensor more": (lambda m: m["tensors"].update(x=m["tensors"]["stem.linear.kernel"]), "x does not belong"),
    "other type": (lambda m: m["tensors"]["stem.linear.kernel"].update(stored="float16"), "disagree about the tensor"),
    "8 bits without scales": (lambda m: m["tensors"]["stem.linear.kernel"].update(stored="int8"), "scale is missing"),
    "8 bits without channels": (lambda m: m["tensors"]["stem.norm.bias"].update(stored="int8"), "no channels to scale"),
    "8 bits in memory": (lambda m: m["tensors"]["stem.norm.bias"].update(memory="int8"), "names the type 'int8'"),
    "unknown type": (lambda m: m["tensors"]["stem.linear.kernel"].update(stored="object"), "names the type 'object'"),
    "kind of weights": (lambda m: m.update(holds="code"), "It holds 'code'"),
    "hash": (lambda m: m.update(sha256="0" * 64), "SHA-256"),
    "notes": (lambda m: m.update(metadata=[]), "manifest is damaged"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_manifest_is_refused(case: str, path: Path, saved: bytes) -> None:
    change, sentence = WRONG[case]
    length = int.from_bytes(saved[:8], "little")
    header = json.loads(saved[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["tabia"])
    change(manifest)
    header["__metadata__"]["tabia"] = json.dumps(manifest)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + saved[8 + length :])
    with pytest.raises(WeightsError, match=sentence):
        load(path)


def test_former_names_of_settings_are_read(path: Path) -> None:
    network = Network(tower(4, 1).changed(final_position=True), (3, 3, 2), 9, 2)
    save(path, network, trained(network))
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    former = content[8 : 8 + length].replace(b"final_position", b"last_board")
    path.write_bytes(len(former).to_bytes(8, "little") + former + content[8 + length :])
    assert b"last_board" in path.read_bytes()
    assert load(path).network == network


def test_tensors_that_overlap_are_refused(path: Path, saved: bytes) -> None:
    length = int.from_bytes(saved[:8], "little")
    header = json.loads(saved[8 : 8 + length])
    header["block1.first.linear.kernel"]["data_offsets"] = header["block1.second.linear.kernel"]["data_offsets"]
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + saved[8 + length :])
    with pytest.raises(WeightsError, match="It is damaged"):
        load(path)


FORBIDDEN = (
    "pickle.find_class",
    "marshal.load",
    "exec",
    "compile",
    "import",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "ctypes.dlopen",
    "code.__new__",
    "function.__new__",
    "socket.connect",
)


class Watch:
    """An audit hook that can be switched off; Python cannot remove one."""

    def __init__(self) -> None:
        self.on, self.seen = False, list[str]()
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on:
            self.seen.append(event)
            if event.startswith(FORBIDDEN):
                raise RuntimeError(f"loading weights did {event} {arguments!r}"[:200])


WATCH = Watch()


@pytest.fixture
def watch() -> Watch:
    """The hook, after a check that it catches a pickle."""
    WATCH.on = True
    try:
        with pytest.raises(RuntimeError, match=r"pickle.find_class"):
            pickle.loads(FOREIGN["a pickle"])  # noqa: S301
    finally:
        WATCH.on = False
    return WATCH


def test_loading_runs_no_code(path: Path, saved: bytes, watch: Watch) -> None:
    load(path)  # the first load imports parts of Python and JAX
    files = {"good": saved, **FOREIGN}
    for kind, content in files.items():
        path.write_bytes(content)
        WATCH.seen.clear()
        watch.on = True
        try:
            load(path)
            assert kind == "good"
        except WeightsError:
            assert kind != "good"
        finally:
            watch.on = False
        assert "open" in watch.seen
