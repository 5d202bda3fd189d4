"""The tracer is a program of its own, and whatever becomes of it is told."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from redlane.tracing.kernel import TracerError, kernel_tracer

OPENED = {"time": 1.0, "pid": 7, "program": "x", "result": "ok", "what": "open"}
READY = {"ready": 1}


def tracer(*lines: object, then: str = "") -> tuple[str, ...]:
    """The command of one that says this."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    program = f"import os, sys, time\nprint(*{texts!r}, sep='\\n', flush=True)\n{then}"
    return (sys.executable, "-c", program)


def test_what_it_tells_is_read_to_its_end() -> None:
    opened, missed = OPENED | {"target": "/a", "mode": "r"}, {"lost": 2, "others": 0}
    with kernel_tracer(1, tracer(READY, opened, "noise", missed)) as found:
        assert [each.target for each in found.records()] == ["/a"]
        assert found.missed == missed


FAILS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "it says so": (tracer({"failed": "no bcc"}), "no bcc"),
    "it dies": (tracer(then="os.abort()"), "has ended"),
    "it is not there": (("/nonexistent/python3",), "does not start"),
}


@pytest.mark.parametrize("name", FAILS)
def test_why_it_does_not_look_is_told(name: str) -> None:
    command, why = FAILS[name]
    with pytest.raises(TracerError, match=why), kernel_tracer(1, command):
        pytest.fail("it does not look")


def test_it_ends_with_who_started_it() -> None:
    program = f"import json, os, time; print(json.dumps({READY!r}))\n"
    program += f"said = {OPENED!r} | {{'target': '/a', 'pid': os.getpid()}}\n"
    program += "print(json.dumps(said), flush=True); time.sleep(600)"
    with kernel_tracer(1, (sys.executable, "-c", program)) as found:
        pid = next(found.records()).pid
    assert not Path(f"/proc/{pid}").exists()


def test_it_is_given_the_root_of_the_session() -> None:
    said: dict[str, Any] = OPENED | {"target": "/a"}
    program = f"import sys, json; print(json.dumps({READY!r}))\nsaid = {said!r}\n"
    program += "said['target'] = sys.argv[1]; print(json.dumps(said))"
    with kernel_tracer(42, (sys.executable, "-c", program)) as found:
        assert [each.target for each in found.records()] == ["42"]


def test_what_it_says_last_is_heard_however_one_stops_to_listen() -> None:
    program = f"""if True:
        import json, signal, sys
        ends = []
        signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
        print(json.dumps({READY!r}))
        while not ends:
            print(json.dumps({{**{OPENED!r}, "target": "/a"}}), flush=True)
        print(json.dumps({{"lost": 3}}), flush=True)
    """
    with kernel_tracer(1, (sys.executable, "-c", program)) as found:
        next(found.records())

    assert found.missed == {"lost": 3}
