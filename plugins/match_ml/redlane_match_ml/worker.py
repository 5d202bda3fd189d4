"""The process that holds the models: `python -m redlane_match_ml.worker`.

Native code reads what strangers wrote: a crash or a hang of it ends this process, and
no other. It has a socket to whoever started it on descriptor 0, ends with that, and
takes no more memory than it is told.
"""

import os
import resource
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from redlane_match_ml.errors import ModelError, NotScoredError
from redlane_match_ml.loading import load_model
from redlane_match_ml.manifest import folder_of
from redlane_match_ml.scoring import Model
from redlane_match_ml.wire import NO_MEMORY, frame, receive

__all__ = ["main"]


class _Models:
    """Models by name, each loaded once."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._folder = folder
        self._threads = threads
        self._loaded: dict[str, Model] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Model:
        """A model, loaded if it is not; raises ModelError."""
        with self._lock:
            model = self._loaded.get(name)
            if model is None:
                model = load_model(folder_of(self._folder, name), self._threads)
                self._loaded[name] = model
            return model


class _Service:
    """Answers requests, several at once, over one socket."""

    def __init__(self, link: socket.socket, models: _Models, at_once: int) -> None:
        self._link = link
        self._models = models
        self._sending = threading.Lock()
        self._pool = ThreadPoolExecutor(at_once)
        # All threads are there before memory is short: one that cannot begin is silent.
        begun = threading.Barrier(at_once + 1)
        for _ in range(at_once):
            self._pool.submit(begun.wait)
        begun.wait()

    def serve(self) -> None:
        """Take requests until there are none any more."""
        while (request := receive(self._link)) is not None:
            self._pool.submit(self._answer, time.monotonic(), *request)

    def _answer(self, begun: float, asked: dict[str, Any], texts: list[str]) -> None:
        try:
            answer = self._scored(begun, asked, texts)
        except (ModelError, NotScoredError) as error:
            answer = {"problem": str(error)}
        except MemoryError:
            os._exit(NO_MEMORY)
        except Exception as error:  # noqa: BLE001  # whatever it is, somebody waits
            answer = {
                "problem": f"the classifier failed: {type(error).__name__}: {error}"
            }
        with self._sending:
            self._link.sendall(frame({"id": asked["id"], **answer}))

    def _scored(
        self, begun: float, asked: dict[str, Any], texts: list[str]
    ) -> dict[str, object]:
        """The highest score of the texts; an object without one if there are none."""
        end = begun + asked["seconds"]
        model = self._models.get(asked["model"])
        found: dict[str, object] = {}
        best, looked_at = -1.0, 0
        for place, text in enumerate(texts):
            score = model.score(
                text,
                asked["stop_at"],
                lambda: end - time.monotonic(),
                partly=asked["partly"],
            )
            looked_at += score.scored
            if score.score > best:
                best = score.score
                found = {"score": best, "text": place}
                found["window"] = [score.start, score.end]
            if score.scored < score.length:  # it is enough, or the time is up
                break
        if found:
            found["scored"] = looked_at
        return found


def main(folder: str, threads: str, at_once: str, memory: str) -> None:
    """Serve the models in a folder until nobody asks any more."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    link = socket.socket(fileno=os.dup(0))
    service = _Service(link, _Models(Path(folder), int(threads)), int(at_once))
    resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    try:
        service.serve()
    except MemoryError:
        os._exit(NO_MEMORY)
    # Native code that hangs would wait for itself.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
