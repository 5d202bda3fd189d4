"""What a program below a judged text gives its shell is handed on, and not typed."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from redlane.judging.judged_texts import JudgedTexts

ASKER = f"{sys.executable} -Ic 'import os; print(os.getpid(), flush=True); input()'"
"""Stands for the guarded shell that asks: tells its number, and waits."""
QUOTED = ASKER.replace("'", "'\\''")
STARTED = {
    "by the text's own shell": (f"{ASKER}; :", False),
    "by a fork of that shell": (f"( {ASKER}; : ); :", False),
    "by becoming it": (f"exec {ASKER}", False),
    "by a program": (f"sh -c '{QUOTED}; :'; :", True),
    "by a program's fork": (f"sh -c '( {QUOTED}; : ); :'; :", True),
    "by what the shell has become": (f"exec sh -c '{QUOTED}; :'", True),
}


def is_handed_on(texts: JudgedTexts, text: str, *, judged: bool) -> bool:
    pipe = subprocess.PIPE
    words = ["/bin/bash", "-c", text]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as shell:
        assert shell.stdout is not None
        asker = int(shell.stdout.readline())
        if judged:
            texts.add(shell.pid)
        found = texts.hand_on_to(asker)
        shell.communicate("\n")
    return found


@pytest.mark.parametrize(("text", "handed_on"), STARTED.values(), ids=STARTED)
def test_text_is_handed_on(text: str, *, handed_on: bool) -> None:
    assert is_handed_on(JudgedTexts(), text, judged=True) == handed_on


def test_nothing_is_handed_on_below_a_text_that_was_not_judged() -> None:
    assert not is_handed_on(JudgedTexts(), STARTED["by a program"][0], judged=False)


def test_nothing_is_handed_on_from_outside_of_a_session(tmp_path: Path) -> None:
    supervisor = tmp_path / "redlane-run"
    supervisor.symlink_to("/bin/sh")
    text = STARTED["by a program"][0].replace("sh", str(supervisor), 1)

    assert not is_handed_on(JudgedTexts(), text, judged=True)


def test_text_that_many_came_after_is_forgotten() -> None:
    assert not is_handed_on(JudgedTexts(0), STARTED["by a program"][0], judged=True)


def test_process_that_is_gone_hands_nothing_on() -> None:
    with subprocess.Popen(["/bin/true"]) as gone:
        gone.wait()

    assert not JudgedTexts().hand_on_to(gone.pid)


def test_what_a_text_starts_that_was_handed_on_is_handed_on() -> None:
    texts, pipe = JudgedTexts(), subprocess.PIPE
    recipe = shlex.join(["bash", "-c", f"echo $$; {ASKER}; :"])
    typed = shlex.join(["sh", "-c", f"{recipe}; :"]) + "; :"
    with subprocess.Popen(
        ["/bin/bash", "-c", typed], stdin=pipe, stdout=pipe, text=True
    ) as shell:
        assert shell.stdout is not None
        handed_on, asker = int(shell.stdout.readline()), int(shell.stdout.readline())
        texts.add(shell.pid)
        texts.add(handed_on)
        found = texts.hand_on_to(asker)
        shell.communicate("\n")

    assert found
