"""A decision on a text holds for its parts so often, and for so long."""

import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from redlane.contexts.shell.content import ShellContent
from redlane.contexts.shell.running.programs import program
from redlane.judging.decided_texts import DecidedTexts
from redlane.judging.held_command import HeldCommand
from redlane.model.verdict import Decision, Verdict
from redlane.state.review import Review
from redlane.state.reviews import Reviews
from redlane.state.sessions import Session

TEXT, PART = b"timeout 60 bash -c 'echo odd'", b"echo odd"
FLAGGED = Verdict(Decision.FLAG, "why", role="dev", context="Shell", policy="p")
SESSION = Session("s", root_pid=os.getpid())
MOST_USES, HOUR, TWO_SECONDS = 32, 3600.0, 2.0


@pytest.fixture
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A guarded shell that asks, and that nobody answers."""
    place = tmp_path_factory.mktemp("p")
    (place / "shell-timeout").write_text("600")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(place / "shell.sock"))
        silent.listen()
        silent.settimeout(20)
        with subprocess.Popen(
            [program("redlane-sh"), "-c", TEXT],
            cwd=place,
            env={"REDLANE_SOCKET": str(place / "control.sock")},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as shell:
            try:
                with silent.accept()[0]:
                    yield shell.pid
            finally:
                shell.kill()


class Lab:
    """What one shell asks about, at times that the test says."""

    def __init__(self, asker: int) -> None:
        self.now = 0.0
        self._asker = asker
        self._texts = DecidedTexts(lambda: self.now)

    def decide(self, decision: str) -> Review:
        """Have the text held and decided."""
        asked = self._asked(TEXT)
        asked.hold()
        reviews = Reviews()
        review = reviews.park(TEXT, "s", "p", "why", 30)
        reviews.decide(review.id, decision, by="alice")
        over = reviews.wait(review)
        self._texts.keep(asked, SESSION, FLAGGED, over)
        return over

    def find(self) -> Review | None:
        """The decision that holds for the part."""
        return self._texts.find(self._asked(PART), SESSION, FLAGGED)

    def _asked(self, text: bytes) -> HeldCommand:
        asked = HeldCommand(lambda: ShellContent(text), self._asker)
        asked.judged(ShellContent(text))
        return asked


@pytest.fixture
def lab(asker: int) -> Lab:
    return Lab(asker)


BOUNDS = {"allow": HOUR, "block": TWO_SECONDS}


@pytest.mark.parametrize(("decision", "seconds"), BOUNDS.items(), ids=BOUNDS)
def test_decision_holds_so_long(lab: Lab, decision: str, seconds: float) -> None:
    review = lab.decide(decision)
    lab.now = seconds - 0.001
    assert lab.find() == review
    lab.now = seconds
    assert lab.find() is None


@pytest.mark.parametrize("decision", BOUNDS)
def test_decision_holds_so_often(lab: Lab, decision: str) -> None:
    review = lab.decide(decision)
    assert [lab.find() for _ in range(MOST_USES)] == [review] * MOST_USES
    assert lab.find() is None
