"""The report of a study: results.csv, results.md and figures, from the stored results of its parts."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from tabia.core import plotting
from tabia.core.text import markdown, markdown_code
from tabia.studies import figures
from tabia.studies.directory import Manifest, StoredPart, StudyDirectory
from tabia.studies.estimates import Estimate, StudyError
from tabia.studies.plots import Figure
from tabia.studies.results import Progress, Results, Row, collect, rows, seeds_shown
from tabia.studies.study import S, Scale, Study
from tabia.studies.verdicts import DIFFERS, HOLDS, NOT_COMPARABLE, Verdict

CSV, MARKDOWN, FIGURES = "results.csv", "results.md", "figures"
_MOST_COMMITS = 4  # that the page names
PROGRESS = ("finished_parts", "parts", "measured_seeds", "all_seeds")
COLUMNS = (
    *("study", "version", "scale", *PROGRESS),
    *("kind", "key", "where", "unit", "value", "low", "high", "seeds"),
    *("published", "published_low", "published_high", "verdict", "note"),
)


def write(study: Study[S], directory: StudyDirectory, *, format: str = "svg") -> list[Path]:
    """Write the tables and figures of what is stored; figures only if matplotlib is installed."""
    manifest = directory.manifest()
    if manifest.study != study.name or manifest.version != study.version:
        raise StudyError(
            f"{directory.path} holds {manifest.study} (version {manifest.version}), not {study.name} (version "
            f"{study.version}). Give its own directory with --out."
        )
    scale = study.scale(manifest.scale)
    with directory.reporting():
        results = collect(study, directory, scale, manifest.seed)
        found = rows(study, scale, results)
        drawn = _draw(study, directory, scale, results, format) if plotting.available() else {}
        drawn |= _pictures(directory, results)
        _remove_others(directory.path / FIGURES, drawn.values())
        text = _page(study, manifest, scale, results, found, drawn)
        return [
            directory.write(CSV, to_csv(manifest, results.progress, found).encode()),
            directory.write(MARKDOWN, text.encode()),
            *drawn.values(),
        ]


def to_csv(manifest: Manifest, progress: Progress, found: Sequence[Row]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    first = [manifest.study, manifest.version, manifest.scale, *astuple(progress)]
    table.writerows([*first, *_cells(row)] for row in found)
    return text.getvalue()


def verdict_counts(path: Path) -> dict[str, int]:
    """How often each verdict occurs in a results.csv."""
    with path.open(encoding="utf-8", newline="") as file:
        words = [line["verdict"] for line in csv.DictReader(file)]
    return {word: words.count(word) for word in (HOLDS, DIFFERS, NOT_COMPARABLE)}


def _cells(row: Row) -> list[object]:
    ours = ["", "", "", ""] if row.ours is None else [row.ours.unit, *_numbers(row.ours)]
    theirs = ["", "", ""]
    if row.published is not None:
        ends = [row.published.low, row.published.high]
        theirs = [_number(row.published.value), *("" if end is None else _number(end) for end in ends)]
    verdict = ["", ""] if row.verdict is None else [row.verdict.word, row.verdict.note]
    return [row.kind, row.key, row.where, *ours, row.seeds, *theirs, *verdict]


def _numbers(one: Estimate) -> list[str]:
    return [_number(value) for value in (one.value, one.low, one.high)]


def _number(value: float) -> str:
    return f"{value:.6g}"


def _draw(study: Study[S], directory: StudyDirectory, scale: Scale, results: Results, format: str) -> dict[str, Path]:
    """Draw every figure that has something to show; their files by title."""
    values, drawn = results.values(study), dict[str, Path]()
    for figure in study.figures:
        about = f"Tabia, scale {scale.name}: {scale.about}. {seeds_shown(figure, results)}. {_marks(figure)}"
        content = figures.draw(
            figure, values, results.series, study.published, scale=about, authors=study.source.authors, format=format
        )
        if content is not None:
            drawn[figure.title] = directory.write(f"{FIGURES}/{figure.name}.{format}", content)
    return drawn


def _marks(figure: Figure) -> str:
    """What the marks of a figure mean."""
    curves, series = "Bars: 95% intervals.", "A line per seed: solid, dashed; bands: 95% intervals."
    return " ".join([curves] * bool(figure.curves) + [series] * bool(figure.series))


def _pictures(directory: StudyDirectory, results: Results) -> dict[str, Path]:
    """Write the pictures that parts made; their files by caption."""
    found = [(part.part, item) for part in results.parts for item in part.outcome.pictures.items()]
    return {
        f"{caption} ({part})": directory.write(f"{FIGURES}/{part}-{number}.svg", content.encode())
        for number, (part, (caption, content)) in enumerate(found, start=1)
    }


def _remove_others(folder: Path, kept: Iterable[Path]) -> None:
    """Remove figures of an earlier report."""
    for path in {*folder.glob("*.svg"), *folder.glob("*.png")} - set(kept):
        path.unlink()


def _page(
    study: Study[S], manifest: Manifest, scale: Scale, results: Results, found: Sequence[Row], drawn: Mapping[str, Path]
) -> str:
    blocks = [f"# {study.name}", _wrap(study.question), _wrap(f"Source: {study.source}.")]
    blocks += [_wrap(f"**{results.progress}.**")] * bool(results.missing)
    blocks += [_about(manifest, scale, results), *map(_wrap, study.notes)]
    blocks += list(_tables(found, study.source.authors))
    blocks += [f"![{markdown(title)}]({FIGURES}/{path.name})" for title, path in drawn.items()]
    return "\n\n".join(blocks) + "\n"


def _about(manifest: Manifest, scale: Scale, results: Results) -> str:
    lines = [
        "| | |",
        "|---|---|",
        f"| scale | {markdown(scale.name)}: {markdown(scale.about)} |",
        f"| seeds | {_seeds(results.progress)}, from {manifest.seed} |",
        f"| computed with | Tabia {markdown(manifest.tabia)}, {markdown(_computed(manifest, results.parts))} |",
        *(f"| computed on | {markdown(words)} |" for words in _dated(results.parts)),
        f"| command | {markdown_code(command(manifest))} |",
    ]
    return "\n".join(lines)


def _computed(manifest: Manifest, parts: Sequence[StoredPart]) -> str:
    """The devices that computed the parts, and for how long: the sum over the parts, not the time by the clock."""
    seconds: dict[str, float] = {}
    for part in parts:
        for name, own in part.seconds.items():
            seconds[name] = seconds.get(name, 0.0) + own
    return ", ".join(f"{own / 60:.1f} minutes on {name}" for name, own in seconds.items()) or manifest.device


def _dated(parts: Sequence[StoredPart]) -> Iterator[str]:
    """The days on which the parts were finished and the commits of the code; nothing for results without a date."""
    dated = [part for part in parts if part.date]
    if not dated:
        return
    dates = sorted({part.date for part in dated if part.date})
    words = [" to ".join(dict.fromkeys((dates[0], dates[-1]))), *_commits(dated)]
    yield ", ".join(words) + (f" ({len(dated)} of {len(parts)} parts)" if len(dated) < len(parts) else "")


def _commits(parts: Sequence[StoredPart]) -> Iterator[str]:
    """The commits, oldest first; a page has no room for many."""
    ordered = sorted(parts, key=lambda part: part.date or "")
    found = list(dict.fromkeys(part.commit for part in ordered if part.commit))
    shown, more = found[:_MOST_COMMITS], len(found) - _MOST_COMMITS
    if found:
        yield f"commit{'' if len(found) == 1 else 's'} {' '.join(shown)}" + (f" and {more} more" if more > 0 else "")


def _seeds(progress: Progress) -> str:
    return str(progress.seeds) if progress.seeds == progress.all_seeds else f"{progress.seeds} of {progress.all_seeds}"


def command(manifest: Manifest) -> str:
    """The command that repeats a study."""
    seed = f" --seed {manifest.seed}" if manifest.seed else ""
    return f"tabia study run {manifest.study} --scale {manifest.scale}{seed}"


def _tables(found: Sequence[Row], authors: str) -> Iterator[str]:
    compared = [row for row in found if row.kind == "value" and row.published is not None]
    for where in dict.fromkeys(row.where for row in compared):
        group = [row for row in compared if row.where == where]
        units = ", ".join(dict.fromkeys(row.ours.unit for row in group if row.ours is not None and row.ours.unit))
        yield f"## {where[:1].upper()}{where[1:]}{f' ({units})' if units else ''}"
        yield _table(("", "ours, 95%", authors, "verdict"), [_compared(row) for row in group])
    claims = [row for row in found if row.kind == "claim"]
    if claims:
        yield "## Orderings and trends"
        for row in claims:
            yield _claim(row)
    own = [row for row in found if row.kind == "value" and row.published is None]
    if own:
        yield "## Measured beyond the publication" if any(row.where for row in found) else "## Measured"
        yield _table(
            ("", "ours, 95%", "unit"), [(row.key, _shown(row.ours), row.ours.unit if row.ours else "") for row in own]
        )


def _compared(row: Row) -> tuple[str, str, str, str]:
    assert row.published is not None and row.verdict is not None
    return row.key, _shown(row.ours), _shown(row.published.estimate), _verdict(row.verdict)


def _claim(row: Row) -> str:
    assert row.verdict is not None
    seeds = f"{row.seeds} seed{'' if row.seeds == 1 else 's'}"
    measured = "" if row.ours is None else f" Difference or slope: {_shown(row.ours)}, {seeds}."
    where = f" ({row.where})" if row.where else ""
    text = f"- {row.key}{where}: **{_verdict(row.verdict)}**.{measured}"
    return "\n".join(textwrap.wrap(text, 118, subsequent_indent="  "))


def _verdict(verdict: Verdict) -> str:
    return f"{verdict.word} ({verdict.note})" if verdict.note else verdict.word


def _shown(one: Estimate | None) -> str:
    """A value with its interval, with as many digits as the interval deserves."""
    if one is None:
        return "-"
    if one.low == one.high:
        return f"{one.value:,.6g}"
    digits = 0 if one.high - one.low > 20 else 1 if one.high - one.low > 1 else 3
    return f"{one.value:,.{digits}f} ({one.low:,.{digits}f} to {one.high:,.{digits}f})"


def _table(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(headings), "|".join("---" for _ in headings)]
    lines += [" | ".join(markdown(cell) for cell in row) for row in cells]
    return "\n".join(f"| {line} |" if "---" not in line else f"|{line}|" for line in lines)


def _wrap(text: str) -> str:
    return "\n".join(textwrap.wrap(" ".join(text.split()), 118))
