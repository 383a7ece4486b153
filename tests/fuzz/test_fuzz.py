"""Any input is accepted or refused with a TabiaError, within 5 s and 500 MB."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tabia.core.errors import TabiaError
from tabia.core.text import is_printable

from .targets import TARGETS, Target

SECONDS, MEGABYTES = 5.0, 500
LONGEST_ERROR = 4000  # characters; a message may list known names, but quotes little of the input


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_hundred_inputs(target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz(target, 100, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_ten_thousand_inputs(target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz(target, 10_000, tmp_path)


def fuzz(target: Target, count: int, place: Path) -> None:
    """Run a target on `count` inputs, the same ones every time."""
    with contextlib.ExitStack() as stack:
        run = target.prepare(place, stack)

        @settings(
            max_examples=count,
            derandomize=True,
            database=None,
            deadline=None,
            print_blob=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(target.inputs)
        def check(value: Any) -> None:
            start, processor = time.monotonic(), time.process_time()
            try:
                run(value)
            except TabiaError as error:
                assert is_printable(str(error).replace("\n", " ")), "an error contains control characters"
                assert len(str(error)) < LONGEST_ERROR, "an error is too long"
            assert time.process_time() - processor < SECONDS
            assert time.monotonic() - start < 12 * SECONDS  # it may wait for other programs on the machine

        before = _memory("VmRSS")
        _reset_peak()
        check()
        growth = _memory("VmHWM") - before
    assert growth < MEGABYTES, f"{growth:.0f} MB more"


def _memory(field: str) -> float:
    """Megabytes of this process: VmRSS is current, VmHWM the peak since the last reset."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith(f"{field}:"))
    return float(line.split()[1]) / 1024


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
