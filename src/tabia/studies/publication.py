"""Published results: the tables and figures of studies in one directory, with an index of every value and verdict.

docs/studies/
    index.md                        written by `tabia study index docs/studies`
    <study>/results.csv             copied by `tabia study report NAME --publish docs/studies`
    <study>/results.md
    <study>/figures/
    <study>/parts.tar.gz            what each part found; `tabia study unpack` continues a study from it
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from pathlib import Path

from tabia.core import files
from tabia.core.text import markdown
from tabia.studies import packing, registry
from tabia.studies.directory import StudyDirectory, writing
from tabia.studies.estimates import StudyError
from tabia.studies.report import CSV, FIGURES, MARKDOWN, PROGRESS
from tabia.studies.results import Progress
from tabia.studies.study import S, Study

INDEX, ARCHIVE = "index.md", "parts.tar.gz"
_INTRODUCTION = """\
# Studies

A study repeats a published experiment and compares: `tabia study run NAME` ([guide](../how-to/run-a-study.md)). The
tables below show the published values, ours with 95% intervals, and a verdict computed from both. With twenty
values, about one differs by chance. Over several training runs, an interval spans those of all runs. "Not comparable"
is a claim that its seeds do not decide, or a smaller scale.
"""


def publish(study: Study[S], directory: StudyDirectory, to: Path) -> list[Path]:
    """Copy the report of a study to a folder of its own; figures that are no longer drawn go."""
    target = to / study.name
    with writing(target):
        files.make_directory(target.absolute())
        for old in (target / FIGURES).glob("*"):
            old.unlink()
        written = [_copy(directory.path / name, target / name) for name in (CSV, MARKDOWN)]
        for figure in sorted((directory.path / FIGURES).glob("*")):
            written.append(_copy(figure, target / FIGURES / figure.name))
    manifest = directory.manifest()
    parts = study.parts(study.scale(manifest.scale), manifest.seed)
    return [*written, packing.pack_results(directory, parts, target / ARCHIVE)]


def _copy(source: Path, target: Path) -> Path:
    files.make_directory(target.parent.absolute())
    shutil.copyfile(source, target)
    return target


def write_index(path: Path) -> Path:
    """Write the index of all published results."""
    if not path.is_dir():
        raise StudyError(f"{path} is not a directory of published results.")
    found = [name for name in registry.names() if (path / name / CSV).is_file()]
    blocks = [_INTRODUCTION.rstrip(), _contents(path, found), *(_section(path, name) for name in found)]
    waiting = [name for name in registry.names() if name not in found]
    if waiting:
        blocks.append("## Not run yet\n\n" + "\n".join(f"- {_line(name)}" for name in waiting))
    with writing(path):
        files.write_atomic(path / INDEX, ("\n\n".join(blocks) + "\n").encode())
    return path / INDEX


def _line(name: str) -> str:
    study = registry.load(name)
    return f"`{name}`: {study.source}"


def _contents(path: Path, names: Sequence[str]) -> str:
    pages = [f"{name}/results" for name in names]
    others = sorted(page.stem for page in path.glob("*.md") if page.name != INDEX)
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *pages, *others, "```"])


def _section(path: Path, name: str) -> str:
    study = registry.load(name)
    lines = _read(path / name / CSV)
    values = [line for line in lines if line["kind"] == "value" and line["published"]]
    claims = [line for line in lines if line["kind"] == "claim"]
    blocks = [f"## [{name}]({name}/{MARKDOWN})", f"{study.source}. Scale: {lines[0]['scale'] if lines else ''}."]
    if missing := _missing(lines):
        blocks.append(f"**{missing}.**")
    if values:
        rows = [
            f"| {line['where']} | {line['key']} | {_ours(line)} | {line['published']} | {line['verdict']} |"
            for line in values
        ]
        blocks.append("\n".join(["| where | what | ours | published | verdict |", "|---|---|---|---|---|", *rows]))
    if claims:
        blocks.append("\n".join(f"- {markdown(line['key'])}: {line['verdict']}" for line in claims))
    return "\n\n".join(blocks)


def _missing(lines: Sequence[dict[str, str]]) -> str:
    """What of a study is not finished; empty if nothing is."""
    return str(Progress(*(int(lines[0][name]) for name in PROGRESS))) if lines else ""


def _ours(line: dict[str, str]) -> str:
    if not line["value"]:
        return "-"
    value, low, high = (f"{float(line[name]):.4g}" for name in ("value", "low", "high"))
    return value if low == high else f"{value} ({low} to {high})"


def _read(path: Path) -> list[dict[str, str]]:
    try:
        text = files.read_text(path, files.MEGABYTE)
    except OSError as error:
        raise StudyError(f"{path} cannot be read: {error.strerror or error}.") from None
    return list(csv.DictReader(text.splitlines()))
