"""What `redlane mcp` adds to a call of a tool, against the same call unwrapped.

    .venv/bin/python benchmarks/mcp.py [ROUNDS]

One server runs by itself and one behind `redlane mcp`, whose daemon judges the call and
its result under a role of a thousand policies. They take turns, so that what else the
machine does meets both alike.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from measure import duration, percentile, print_table
from own_daemon import SCRIPTS, daemon

ROUNDS = 2_000
TURN = 20
POLICIES = [
    {"id": f"p{n}", "type": "Simple", "action": "Block", "pattern": f"never p{n}"}
    for n in range(1_000)
]
SERVER = """\
import json, sys
for line in sys.stdin.buffer:
    asked = json.loads(line)
    text = json.dumps(asked["params"]["arguments"])
    result = {"content": [{"type": "text", "text": text}]}
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""
SIZES = {"small": 40, "10 kB": 10_000, "1 MB": 1_000_000}


@contextmanager
def server(
    command: Sequence[str | Path], environment: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """A server that answers calls."""
    running = subprocess.Popen(
        [*command, sys.executable, "-c", SERVER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with running:
        yield running
        assert running.stdin is not None
        running.stdin.close()


def once(running: "subprocess.Popen[bytes]", size: int) -> float:
    """The seconds from a call to its answer."""
    arguments = {"text": "a word " * (size // 7)}
    params = {"name": "echo", "arguments": arguments}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    line = json.dumps(asked).encode() + b"\n"
    assert running.stdin is not None
    assert running.stdout is not None
    start = time.perf_counter()
    running.stdin.write(line)
    running.stdin.flush()
    answer = running.stdout.readline()
    taken = time.perf_counter() - start
    assert b'"result"' in answer, answer
    return taken


def main() -> None:
    """Print the middle and the 95th percentile of both, and what is added."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    wrapper = (SCRIPTS / "redlane", "mcp", "--name", "bench", "--")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        environment = stack.enter_context(daemon(Path(name), POLICIES))
        plain = stack.enter_context(server((), environment))
        judged = stack.enter_context(server(wrapper, environment))
        rows = []
        for label, size in SIZES.items():
            count = max(10, rounds * 40 // max(40, size // 10))
            rows.append(row(label, measure((plain, judged), size, count)))
    heads = ("call", "p50", "judged", "added", "p95", "judged", "added")
    print_table(heads, rows)


def measure(
    running: Sequence["subprocess.Popen[bytes]"], size: int, rounds: int
) -> list[list[float]]:
    """How long calls take, in turns; the first of all do not count."""
    taken: list[list[float]] = [[] for _ in running]
    for each in running:
        once(each, size)
    for _ in range(-(-rounds // TURN)):
        for each, times in zip(running, taken, strict=True):
            times.extend(once(each, size) for _ in range(TURN))
    return taken


def row(label: str, taken: list[list[float]]) -> tuple[str, ...]:
    """One line of the table."""
    cells = [label]
    for percent in (50, 95):
        plain, judged = (percentile(each, percent) for each in taken)
        cells += [duration(plain), duration(judged), duration(judged - plain)]
    return tuple(cells)


if __name__ == "__main__":
    main()
