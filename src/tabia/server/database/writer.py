"""Group commit: one thread writes all games that wait in one transaction, and then acknowledges all of them.

A commit waits for the disk, which takes longer than everything else about a move. So the games that change while one
commit is under way share the next one.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field

from tabia.server.database.store import Saved, Store, WriteAlso
from tabia.server.errors import Unavailable

MOST = 64
"""The most games of one transaction."""


@dataclass(eq=False)
class _Job:
    saved: Saved
    also: WriteAlso | None
    future: Future[Saved] = field(default_factory=Future)


class Writer:
    """Saves games in the order in which they come."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def save(self, saved: Saved, also: WriteAlso | None = None) -> Future[Saved]:
        """The game as it was stored, once it is on the disk; a game is given again only after its future is done."""
        job = _Job(saved, also)
        with self._lock:
            if self._closed:
                raise Unavailable("The server is stopping; nothing was saved.")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
                self._thread.start()
            self._jobs.put(job)
        return job.future

    def close(self) -> None:
        """Write what waits, then stop."""
        with self._lock:
            self._closed = True
            self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs, last = self._taken(first)
            self._write([job for job in jobs if job.future.set_running_or_notify_cancel()])
            if last:
                return

    def _taken(self, first: _Job) -> tuple[list[_Job], bool]:
        """The games that are written together, and whether they are the last ones."""
        jobs = [first]
        while len(jobs) < MOST:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _write(self, jobs: list[_Job]) -> None:
        try:
            with self._store.database.transaction() as connection:
                found = [self._store.write(connection, job.saved, job.also) for job in jobs]
        except Exception:  # one of them is at fault, so each is tried alone
            for job in jobs:
                self._write_alone(job)
            return
        for job, saved in zip(jobs, found, strict=True):
            job.future.set_result(saved)

    def _write_alone(self, job: _Job) -> None:
        try:
            saved = self._store.save(job.saved, job.also)
        except Exception as error:  # the caller gets it; the next game is not affected
            job.future.set_exception(error)
        else:
            job.future.set_result(saved)
