"""A study directory: the only state of a study that was started.

studies/bandits-quick/
    study.json                      study, version, scale, seed; Tabia's version and the device that started it
    parts/<part>/result.json        what a finished part found; device, version, commit and date
    parts/<part>/...                what a part keeps to resume: games.txt, run/, weights/, time.json
    results.csv, results.md         written by `tabia study report`
    figures/

Every file is written atomically. A part is locked while a process runs it, so several processes may share a directory.
"""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax

from tabia import __version__
from tabia.core import files
from tabia.core.locks import locked
from tabia.core.parsing import parse_json
from tabia.core.text import quote
from tabia.studies.clock import Seconds
from tabia.studies.estimates import Estimate, StudyError
from tabia.studies.part import Outcome, Part, Series
from tabia.training.run.metrics import describe_machine

MANIFEST, RESULT, LOCK, PARTS, RUN = "study.json", "result.json", ".lock", "parts", "run"
_FORMAT = 1
_LARGEST_MANIFEST, _LARGEST_RESULT = files.MEGABYTE, 64 * files.MEGABYTE
_PATIENCE = 60.0  # seconds to wait for another process that writes the manifest or the report
_MOMENT = 0.3  # seconds to wait for another process that only looks at a part
_UNFIT = ",@="  # separate the parts of a player's spec, which names the weights in the directory


@dataclass(frozen=True)
class Manifest:
    """Which study a directory holds; the first four fields must agree to resume it."""

    study: str
    version: int
    scale: str
    seed: int
    tabia: str
    device: str


@dataclass(frozen=True)
class StoredPart:
    """A finished part as it is stored."""

    part: str
    seed: int
    device: str  # of the process that finished it
    tabia: str
    commit: str | None  # of its code; None if that is an installed package, or the result older than this field
    date: str | None  # when it was finished; None for older results
    seconds: Seconds  # of all processes that worked on it, by device
    outcome: Outcome


@dataclass(frozen=True)
class StudyDirectory:
    """The directory of a study."""

    path: Path

    def open(self, study: str, version: int, scale: str, seed: int) -> Manifest:
        """Create the directory, or check that it holds this study."""
        if any(letter in str(self.path) for letter in _UNFIT):
            raise StudyError(f"--out {self.path}: a study directory must not contain any of the characters {_UNFIT}")
        return self._hold(Manifest(study, version, scale, seed, __version__, device()))

    def accept(self, manifest: str) -> Manifest:
        """Create the directory as a copy of one with this manifest, or check that it holds the same study."""
        try:
            return self._hold(_parsed(parse_json(manifest), MANIFEST))
        except ValueError:
            raise StudyError(f"The {MANIFEST} of the archive is damaged; pack it again.") from None

    def _hold(self, wanted: Manifest) -> Manifest:
        with writing(self.path):
            self._make(self.path)
            with self._patiently():
                if files.exists(self.path / MANIFEST):
                    found = self.manifest()
                    self._check(found, wanted)
                    return found
                if any(entry.name != LOCK and not entry.name.endswith(".tmp") for entry in self.path.iterdir()):
                    raise StudyError(f"{self.path} is not empty and holds no study. Give another directory with --out.")
                self._write(self.path / MANIFEST, {"format": _FORMAT, **asdict(wanted)})
        return wanted

    def manifest(self) -> Manifest:
        """Which study the directory holds."""
        if not files.exists(self.path / MANIFEST):
            raise StudyError(f"{self.path} holds no study: it has no {MANIFEST}. Start one with `tabia study run`.")
        return _parsed(self._read(self.path / MANIFEST, _LARGEST_MANIFEST), str(self.path / MANIFEST))

    def folder(self, part: str) -> Path:
        """The folder of a part."""
        return self.path / PARTS / part

    def finished(self, part: str) -> bool:
        """Whether the result of a part is stored."""
        return files.exists(self.folder(part) / RESULT)

    def result(self, part: str) -> StoredPart:
        """The stored result of a part."""
        path = self.folder(part) / RESULT
        found = self._read(path, _LARGEST_RESULT)
        try:
            estimates = tuple(Estimate(**entry) for entry in found["estimates"])
            series = {
                name: Series(**{axis: tuple(row) for axis, row in one.items()}) for name, one in found["series"].items()
            }
            return StoredPart(
                part=str(found["part"]),
                seed=int(found["seed"]),
                device=str(found["device"]),
                tabia=str(found["tabia"]),
                commit=_word(found.get("commit")),
                date=_word(found.get("date")),
                seconds={
                    str(name): float(one)
                    for name, one in found.get("seconds_by_device", {found["device"]: found["seconds"]}).items()
                },
                outcome=Outcome(
                    estimates, series, {str(name): str(one) for name, one in found.get("pictures", {}).items()}
                ),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise StudyError(f"{path} is damaged; remove it, and run the study again.") from None

    def store(self, part: Part, outcome: Outcome, seconds: Seconds) -> None:
        """Store the result of a part."""
        content = {
            "format": _FORMAT,
            "part": part.name,
            "seed": part.seed,
            "device": device(),
            "tabia": __version__,
            "commit": commit(),
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "seconds": round(sum(seconds.values()), 3),
            "seconds_by_device": dict(seconds),
            "estimates": [asdict(one) for one in outcome.estimates],
            "series": {name: asdict(one) for name, one in outcome.series.items()},
            **({"pictures": outcome.pictures} if outcome.pictures else {}),
        }
        with writing(self.path):
            self._write(self.folder(part.name) / RESULT, content)

    def slim(self, part: str) -> None:
        """Remove the run directory of a finished training part; its weights are exported."""
        if self.finished(part) and (self.folder(part) / RUN).is_dir():
            with writing(self.path):
                shutil.rmtree(self.folder(part) / RUN)

    @contextmanager
    def claimed(self, part: str) -> Iterator[bool]:
        """Keep other processes from running a part; False if one is running it."""
        with writing(self.path):
            files.make_directory(self.folder(part), within=self.path)
        # Another process may hold the lock for a moment, to see whether the part is being run.
        with locked(self.folder(part) / LOCK, patience=_MOMENT) as mine:
            yield mine

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Write the report, one process at a time."""
        with self._patiently():
            yield

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of the report."""
        path = self.path / name
        with writing(self.path):
            files.make_directory(path.parent, within=self.path)
            files.write_atomic(path, content, within=self.path)
        return path

    @contextmanager
    def _patiently(self) -> Iterator[None]:
        with locked(self.path / LOCK, patience=_PATIENCE) as mine:
            if not mine:
                raise StudyError(f"{self.path} is being written by another process; try again later.")
            yield

    def _make(self, path: Path) -> None:
        if files.exists(path) and not path.is_dir():
            raise StudyError(f"{path} is not a directory. Give another one with --out.")
        files.make_directory(path.absolute())

    def _check(self, found: Manifest, wanted: Manifest) -> None:
        for name in ("study", "version", "scale", "seed"):
            was, now = getattr(found, name), getattr(wanted, name)
            if was != now:
                raise StudyError(
                    f"{self.path} holds {found.study} (version {found.version}, scale {found.scale}, seed "
                    f"{found.seed}), and its {name} is {quote(was)}, not {quote(now)}. Give another directory with "
                    f"--out{_how_to_resume(found, wanted, self.path)}."
                )

    def _write(self, path: Path, content: Mapping[str, Any]) -> None:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        files.write_atomic(path, f"{text}\n".encode(), within=self.path)

    def _read(self, path: Path, limit: int) -> dict[str, Any]:
        try:
            found = parse_json(files.read_text(path, limit, within=self.path))
        except OSError as error:
            raise StudyError(f"{path} cannot be read: {error.strerror or error}.") from None
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise StudyError(f"{path} is damaged, or written by another version of Tabia; this is {__version__}.")
        return found


_FIELDS = {"study": str, "version": int, "scale": str, "seed": int, "tabia": str, "device": str}


def _parsed(found: Any, where: str) -> Manifest:
    try:
        return Manifest(**{name: kind(found[name]) for name, kind in _FIELDS.items()})
    except (KeyError, TypeError, ValueError):
        raise StudyError(f"{where} is damaged; give another directory with --out.") from None


def _word(found: Any) -> str | None:
    return None if found is None else str(found)


@cache
def commit() -> str | None:
    """The commit of the code that this process runs; asked for once, because a later one is not loaded."""
    found: str | None = describe_machine()["commit"]
    return found


def device() -> str:
    """The device that JAX computes on, in words."""
    first = jax.devices()[0]
    return f"{first.platform}: {first.device_kind}" if first.platform != "cpu" else "cpu"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the file system into sentences."""
    try:
        yield
    except OSError as error:
        raise StudyError(f"{error.filename or path} cannot be written: {error.strerror or error}.") from None


def _how_to_resume(found: Manifest, wanted: Manifest, path: Path) -> str:
    """The command that resumes what the directory holds, if that is possible."""
    if found.study != wanted.study or found.version == wanted.version:
        return f", or resume it: tabia study run {found.study} --scale {found.scale} --seed {found.seed} --out {path}"
    return "; results of another version of a study cannot be resumed"
