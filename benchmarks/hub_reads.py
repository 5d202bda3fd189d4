"""A hub's fetches and searches over HTTP against a bare web server and its peers.

    .venv/bin/python benchmarks/hub_reads.py [ROUNDS]

The servers take turns on one processor, wrk is on the other. A share is of the bare
server's rate in the same run, with an answer of the same size. The peers serve one
document of about that size; they are installed into `.run/peers` the first time.
"""

import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hub_corpus import COMMON, Corpus
from load import SERVER_CPU, Load, hammered
from measure import duration, percentile, print_table
from peers import PEERS, free_port, peer_environment

ROUNDS = 3
ARTIFACTS = 5_000
CONTENT_BYTES, ANSWER_BYTES = 4_300, 4_700
PROGRAMS = Path(sys.executable).parent
PEER_PROGRAMS = Path(__file__).parents[1] / ".run" / "peers"
BARE = Path(__file__).with_name("bare_waitress.py")
SECONDS_TO_START = 30


@dataclass(frozen=True, slots=True)
class Target:
    """Something to ask for, and what it measures against, by name."""

    name: str
    url: str
    floor: str = ""
    accept: str = "*/*"
    is_peer: bool = False
    loads: list[Load] = field(default_factory=list)


def main() -> None:
    """Start the servers, ask them in turns, and print one table."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    with tempfile.TemporaryDirectory() as directory, ExitStack() as running:
        targets = list(started(Path(directory), running))
        for _ in range(rounds):
            for target in targets:
                target.loads.append(hammered(target.url, accept=target.accept))
    rates = {each.name: best(each) for each in targets}
    rows = [
        (
            each.name,
            f"{rates[each.name]:,.0f}",
            f"{percentile([load.rate for load in each.loads], 50):,.0f}",
            duration(min(load.p99 for load in each.loads)),
            f"{rates[each.name] / rates[each.floor]:.0%}" if each.floor else "",
        )
        for each in targets
    ]
    print_table(("", "best req/s", "median", "p99", "of the bare server"), rows)
    peer = max((each for each in targets if each.is_peer), key=best)
    ratio = rates["fetch"] / rates[peer.name]
    print(f"\nfetch is {ratio:.1f} times {peer.name}, the best of the peers")


def best(target: Target) -> float:
    """The rate of its best round: others are slower because of their neighbours."""
    return max(load.rate for load in target.loads)


def started(directory: Path, running: ExitStack) -> Iterator[Target]:
    """Everything to ask for, each from a server that runs until the stack ends."""
    corpus = Corpus(directory)
    corpus.fill(ARTIFACTS, size=CONTENT_BYTES, hoard=False)
    corpus.database.close()
    api = running.enter_context(hub(corpus.path)) + "/api/v1/artifacts"
    asked = {
        "fetch": f"{api}/artifact-{ARTIFACTS // 2}/1.0.0",
        "search": f"{api}/search",
        "search for a word": f"{api}/search?q={COMMON}",
    }
    for name, url in asked.items():
        size = len(answer(url))
        bare = f"bare server, {size:,} bytes"
        yield Target(bare, running.enter_context(bare_server(size)))
        yield Target(name, url, bare)
    programs = peer_environment(PEER_PROGRAMS)
    for start in PEERS:
        place = directory / start.__name__
        place.mkdir()
        peer = running.enter_context(start(programs, place, ANSWER_BYTES, SERVER_CPU))
        name = f"{peer.name}, {peer.size:,} bytes"
        yield Target(name, peer.url, accept=peer.accept, is_peer=True)


@contextmanager
def hub(database: Path) -> Iterator[str]:
    """A hub that lets wrk say who asks; its address."""
    port = free_port()
    where = ["--listen", f"127.0.0.1:{port}", "--database", str(database)]
    words = [str(PROGRAMS / "redlane-hub"), "serve", *where]
    environment = {"REDLANE_HUB_TRUSTED_PROXIES": "127.0.0.1"}
    with serving(words, environment, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def bare_server(size: int) -> Iterator[str]:
    """A server of so many constant bytes; its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    with serving([sys.executable, str(BARE), str(port), str(size)], {}, url):
        yield url


@contextmanager
def serving(words: list[str], environment: dict[str, str], url: str) -> Iterator[None]:
    """A server on its processor, from its first answer until the block ends."""
    pinned = ["taskset", "--cpu-list", str(SERVER_CPU), *words]
    server = subprocess.Popen(pinned, stdout=subprocess.DEVNULL, env=environment)
    try:
        end = time.monotonic() + SECONDS_TO_START
        while not answers(url):
            if time.monotonic() > end or server.poll() is not None:
                raise RuntimeError(f"{words} did not start")
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        server.wait()


def answers(url: str) -> bool:
    """Whether the server does so yet."""
    try:
        return answer(url) is not None
    except OSError:
        return False


def answer(url: str) -> bytes:
    """The body of one answer."""
    with urllib.request.urlopen(url, timeout=10) as found:
        body: bytes = found.read()
        return body


if __name__ == "__main__":
    main()
