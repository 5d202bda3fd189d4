"""Asks the process that holds the models, and replaces it when it fails."""

import contextlib
import itertools
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redlane_match_ml.errors import NotScoredError
from redlane_match_ml.found import Found
from redlane_match_ml.wire import NO_MEMORY, frame, receive

__all__ = ["Classifier"]

_GRACE_SECONDS = 0.5
"""How much longer than asked an answer may take before the process counts as hung."""

_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    # Without this ONNX Runtime notes how it is used, and would send that away.
    "ORT_DISABLE_TELEMETRY": "1",
    "PATH": "/usr/bin:/bin",
    "TOKENIZERS_PARALLELISM": "false",
}
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    """Somebody who waits for an answer."""

    done: threading.Event = field(default_factory=threading.Event)
    answer: dict[str, Any] = field(default_factory=dict)


class _Process:
    """One process with models, and who waits for it."""

    def __init__(self, words: Sequence[str]) -> None:
        ours, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                words,
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=_ENVIRONMENT,
                start_new_session=True,
            )
        self._link = ours
        self._sending = threading.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._lock = threading.Lock()
        self._why = ""
        self.has_ended = False
        threading.Thread(target=self._read, name="classifier", daemon=True).start()

    def ask(self, number: int, data: bytes, seconds: float) -> dict[str, Any]:
        """The answer to a request; raises NotScoredError when none comes."""
        waiting = _Waiting()
        with self._lock:
            if self.has_ended:
                raise NotScoredError(self._why)
            self._waiting[number] = waiting
        with contextlib.suppress(OSError), self._sending:  # its end is seen elsewhere
            self._link.sendall(data)
        if not waiting.done.wait(seconds + _GRACE_SECONDS):
            self.end(f"it did not answer within {seconds:g} seconds, and was ended")
            waiting.done.wait()
        return waiting.answer

    def tell(self, data: bytes) -> None:
        """Send something that nobody waits for."""
        with contextlib.suppress(OSError), self._sending:
            self._link.sendall(data)

    def end(self, why: str) -> None:
        """End the process; who waits for it is told why."""
        with self._lock:
            self._why = self._why or why
        with contextlib.suppress(OSError):
            self._process.kill()

    def _read(self) -> None:
        while (received := receive(self._link)) is not None:
            answer, _ = received
            with self._lock:
                waiting = self._waiting.pop(answer.get("id", -1), None)
            if waiting is not None:
                waiting.answer = answer
                waiting.done.set()
        self._bury()

    def _bury(self) -> None:
        """Take leave of a process that says nothing more."""
        self._process.kill()
        status = self._process.wait()
        with self._lock:
            self._why = self._why or f"its process ended ({_ended(status)})"
            self.has_ended = True
            left = list(self._waiting.values())
            self._waiting.clear()
        self._link.close()
        for waiting in left:
            waiting.answer = {"problem": self._why}
            waiting.done.set()


class Classifier:
    """The models of one folder, in a process of their own; for several threads."""

    def __init__(self, models: Path, threads: int, at_once: int, memory: int) -> None:
        """Nothing is started before somebody asks.

        A model computes with `threads`, on texts of `at_once` requests at a time; the
        process has `memory` bytes.
        """
        self._words = [sys.executable, "-I", "-m", "redlane_match_ml.worker"]
        self._words += [str(models), str(threads), str(at_once), str(memory)]
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._is_closed = False

    def load(self, model: str) -> None:
        """Have a model loaded before somebody waits for it."""
        head = {"model": model, "seconds": 0, "stop_at": 1, "partly": False}
        with contextlib.suppress(NotScoredError):
            self._running().tell(frame({"id": next(self._numbers), **head}))

    def score(
        self,
        model: str,
        texts: Sequence[str],
        seconds: float,
        stop_at: float,
        *,
        partly: bool = False,
    ) -> Found:
        """The highest score of texts; they are not all looked at if it is enough.

        With `partly` what is scored in time counts, if that is anything. Raises
        NotScoredError, with the reason, where there is no score.
        """
        begun = time.monotonic()
        number = next(self._numbers)
        head = {"id": number, "model": model, "seconds": seconds, "stop_at": stop_at}
        head["partly"] = partly
        answer = self._running().ask(
            number, frame(head, texts), seconds - (time.monotonic() - begun)
        )
        if "score" not in answer:
            raise NotScoredError(str(answer.get("problem", "it gave no score")))
        start, end = answer["window"]
        return Found(
            answer["score"],
            answer["text"],
            start,
            end,
            answer["scored"],
        )

    def close(self) -> None:
        """End the process for good."""
        with self._lock:
            self._is_closed = True
            process, self._process = self._process, None
        if process is not None:
            process.end("it is not needed any more")

    def _running(self) -> _Process:
        """The process, another one where there is none."""
        with self._lock:
            if self._is_closed:
                raise NotScoredError("it is not needed any more")
            if self._process is None or self._process.has_ended:
                if self._process is not None:
                    _log.warning("the classifier's process has ended: starting another")
                try:
                    self._process = _Process(self._words)
                except OSError as error:
                    raise NotScoredError(
                        f"its process cannot be started: {error.strerror}"
                    ) from error
            return self._process


def _ended(status: int) -> str:
    if status == NO_MEMORY:
        return "it had no memory left"
    return f"status {status}" if status >= 0 else signal.Signals(-status).name
