"""Run parts of a study, several at once, on a machine that is available for a limited time, and pack the results.

    python tools/run_study.py connect-width --start docs/studies/connect-width/parts.tar.gz --only '*-12-?' \
        --only '*-16-?' --together 4 --minutes 8.5 --out out

`--start` gives the parts that are finished. A part and those that need nothing else run in one process, in the order of
`--only`. When the time is over, what runs is stopped and lost. Then OUT/parts.tar.gz holds the results of all finished
parts, and OUT/weights.tar, weights-2.tar and so on the trained parts that unfinished parts need: unpack them with
`tabia study unpack`, and go on with `tabia study run`.

On an Nvidia GPU the processes compute at the same time if its multi-process service is installed; otherwise they take
turns. They share the device's memory in equal parts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT = dict(os.environ)  # of the parts; this process only packs, and leaves the device to them
os.environ["JAX_PLATFORMS"] = "cpu"

from tabia.studies import StudyDirectory, packing, registry, runner  # noqa: E402
from tabia.studies.estimates import StudyError  # noqa: E402
from tabia.studies.part import Part  # noqa: E402

SHARE = 0.9  # of the device's memory, for all processes together
MOMENT, REPORT = 0.5, 30.0  # seconds between looks at the processes, and between lines about them
GRACE = 10.0  # seconds for stopped processes to end
SERVICE = "nvidia-cuda-mps-control"


@dataclass(eq=False)
class Job:
    """Parts that one process runs in turn, and the parts of other jobs that it needs."""

    parts: list[str]
    needs: set[str] = field(default_factory=set)
    process: subprocess.Popen[bytes] | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", help="name of the study")
    parser.add_argument("--scale", default="full")
    parser.add_argument("--out", type=Path, required=True, help="directory for the archives")
    parser.add_argument("--start", type=Path, action="append", default=[], metavar="FILE", help="finished parts")
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="run these parts, in this order")
    parser.add_argument("--together", type=int, default=1, metavar="N", help="processes at once")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this time")
    parser.add_argument("--megabytes", type=float, default=15.5, help="limit of each archive of weights")
    parser.add_argument("--total", type=float, default=60.0, help="limit of all archives of weights, in MiB")
    words = parser.parse_args(arguments)
    end = time.monotonic() + 60 * words.minutes
    words.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        directory = StudyDirectory(Path(folder) / "study")
        try:
            study = registry.load(words.study)
            scale = study.scale(words.scale)
            for archive in words.start:
                packing.unpack(archive, directory)
            directory.open(study.name, study.version, scale.name, 0)
            parts = study.parts(scale, 0)
            jobs = plan(runner.select(parts, words.only), directory)
        except StudyError as error:
            parser.error(str(error))
        with shared_device(Path(folder), words.together) as environment:
            failed = run(jobs, words, directory, Path(folder), environment, end)
        pack(directory, parts, words)
    return 1 if failed else 0


def plan(parts: Sequence[Part], directory: StudyDirectory) -> list[Job]:
    """The unfinished parts, each in the job of the only one that it needs."""
    jobs: list[Job] = []
    for part in parts:
        if directory.finished(part.name):
            continue
        missing = {need for need in part.needs if not directory.finished(need)}
        holding = [job for job in jobs if missing & set(job.parts)]
        if len(holding) == 1 and missing <= set(holding[0].parts):
            holding[0].parts.append(part.name)
        else:
            jobs.append(Job([part.name], missing))
    return jobs


def run(
    jobs: list[Job],
    words: argparse.Namespace,
    directory: StudyDirectory,
    logs: Path,
    environment: dict[str, str],
    end: float,
) -> list[Job]:
    """Run the jobs until they or the time end; those that failed. Processes end with this function."""
    waiting, running, failed = list(jobs), list[Job](), list[Job]()
    try:
        _run(waiting, running, failed, words, directory, logs, environment, end)
    except KeyboardInterrupt:
        print("Interrupted: packing what is finished.", flush=True)
    finally:
        stop(running)
    print(f"Jobs stopped or not started: {len(running) + len(waiting)} of {len(jobs)}.", flush=True)
    return failed


def _run(
    waiting: list[Job],
    running: list[Job],
    failed: list[Job],
    words: argparse.Namespace,
    directory: StudyDirectory,
    logs: Path,
    environment: dict[str, str],
    end: float,
) -> None:
    """Start waiting jobs, follow running ones, and collect those that failed; the three lists change in place."""
    said = time.monotonic()
    while (waiting or running) and time.monotonic() < end:
        for job in [one for one in waiting if all(map(directory.finished, one.needs))]:
            if len(running) < words.together:
                waiting.remove(job)
                running.append(job)
                job.process = start(job, words, directory, logs, environment)
        if not running:
            for job in waiting:
                print(f"{job.parts[0]}: not started, for it needs {', '.join(sorted(job.needs))}", flush=True)
            failed += waiting
            break
        time.sleep(MOMENT)
        for job in [one for one in running if one.process and one.process.poll() is not None]:
            running.remove(job)
            assert job.process is not None
            if job.process.returncode:
                failed.append(job)
            print(f"{job.parts[0]}: exit status {job.process.returncode}", flush=True)
            print("\n".join(f"  {line}" for line in last_lines(job, logs, 20 if job.process.returncode else 1)))
        if time.monotonic() - said > REPORT:
            said = time.monotonic()
            for job in running:
                print(f"{job.parts[0]}: {''.join(last_lines(job, logs, 1))}", flush=True)


def start(
    job: Job, words: argparse.Namespace, directory: StudyDirectory, logs: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """`tabia study run` for the parts of a job."""
    command = [sys.executable, "-m", "tabia", "study", "run", words.study, "--scale", words.scale, "--slim"]
    command += ["--out", str(directory.path), *(word for part in job.parts for word in ("--only", part))]
    with (logs / f"{job.parts[0]}.log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)


def stop(jobs: Sequence[Job]) -> None:
    """End the processes of these jobs."""
    processes = [job.process for job in jobs if job.process is not None]
    for process in processes:
        process.send_signal(signal.SIGTERM)
    end = time.monotonic() + GRACE
    for process in processes:
        try:
            process.wait(max(end - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def last_lines(job: Job, logs: Path, count: int) -> list[str]:
    """The last lines of what a job has printed."""
    text = (logs / f"{job.parts[0]}.log").read_text(encoding="utf-8", errors="replace")
    return text.strip().splitlines()[-count:]


@contextmanager
def shared_device(folder: Path, processes: int) -> Iterator[dict[str, str]]:
    """The environment of processes that share the device, for as long as they do."""
    environment = dict(ENVIRONMENT)
    if processes > 1:
        environment.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{SHARE / processes:.3f}")
    service = shutil.which(SERVICE) if processes > 1 else None
    if service is None:
        yield environment
        return
    for variable in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
        (folder / variable).mkdir()
        environment[variable] = str(folder / variable)
    subprocess.run([service, "-d"], env=environment, check=True)
    try:
        yield environment
    finally:
        subprocess.run([service], input=b"quit\n", env=environment, check=False)


def pack(directory: StudyDirectory, parts: Sequence[Part], words: argparse.Namespace) -> None:
    """Write the archives, and drop the last ones of weights that exceed the total."""
    print(packing.pack_results(directory, parts, words.out / "parts.tar.gz"), flush=True)
    unfinished = [part for part in parts if not directory.finished(part.name)]
    needed = {need for part in unfinished for need in part.needs}
    here = [name for name in sorted(needed) if (directory.folder(name) / "weights" / "checkpoints").is_dir()]
    if not here:
        return
    limit, left = round(words.megabytes * 2**20), words.total * 2**20
    for path in packing.pack(directory, parts, words.out / "weights.tar", only=here, limit=limit):
        left -= path.stat().st_size
        if left < 0:
            path.unlink()
        print(f"{path}{' dropped: over the total' if left < 0 else ''}", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as after Ctrl-C, what is finished is packed
    sys.exit(main())
