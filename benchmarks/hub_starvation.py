"""How much of the hub's reading rate logins leave.

    python benchmarks/hub_starvation.py [--seconds 5] [--workers 1]

Starts a hub of its own and reads an artifact over four kept connections: first alone,
then while eight clients, each with an address of its own, log in as fast as they are
answered. Prints both rates and the share that was kept, which should be a third.
"""

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

HUB = Path(sys.executable).with_name("redlane-hub")
READERS = 4
LOGINS = 8
ACCOUNT = {"email": "ada@example.org", "password": "correct horse"}
ARTIFACT = {
    "name": "starter",
    "version": "1.0",
    "content": '{"x": "' + "y" * 4000 + '"}',
}


class Client:
    """One kept connection; the hub believes us whose request it is."""

    def __init__(self, place: tuple[str, int]) -> None:
        self._connection = http.client.HTTPConnection(*place, timeout=60)

    def ask(self, address: str, method: str, path: str, **options: object) -> int:
        """Ask as the client at an address; the status."""
        token, form = options.get("token"), options.get("form")
        headers = {"X-Forwarded-For": address, "Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        body = json.dumps(form) if form else None
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        self.answer = answer.read()
        return answer.status


def address(number: int) -> str:
    """An address of its own for each number."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def rate(
    place: tuple[str, int], seconds: float, *, logins: bool
) -> tuple[float, Counter]:
    """Reads a second, and how the logins were answered meanwhile."""
    end = time.monotonic() + seconds
    reads, answered = Counter(), Counter()

    def read(number: int) -> None:
        client, asked = Client(place), 0
        while time.monotonic() < end:
            # An address may ask a thousand times at once; this measures no limit.
            source = address((number << 16) + asked // 500)
            status = client.ask(source, "GET", "/api/v1/artifacts/starter/1.0")
            reads[status] += 1
            asked += 1

    def log_in(number: int) -> None:
        client, asked = Client(place), 0
        while time.monotonic() < end:
            source = address((number + 100 << 16) + asked // 5)
            answered[client.ask(source, "POST", "/api/v1/login", form=ACCOUNT)] += 1
            asked += 1

    threads = [threading.Thread(target=read, args=(n,)) for n in range(READERS)]
    if logins:
        threads += [threading.Thread(target=log_in, args=(n,)) for n in range(LOGINS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if set(reads) != {200}:
        raise SystemExit(f"reads were answered with {dict(reads)}")
    return reads[200] / seconds, answered


def prepare(place: tuple[str, int], database: Path) -> None:
    """An approved account and the artifact that is read."""
    client = Client(place)
    client.ask(address(1), "POST", "/api/v1/register", form=ACCOUNT)
    approve = [HUB, "approve", ACCOUNT["email"], "--database", database]
    subprocess.run(approve, check=True, capture_output=True)
    client.ask(address(1), "POST", "/api/v1/login", form=ACCOUNT)
    token = json.loads(client.answer)["token"]
    status = client.ask(
        address(1), "POST", "/api/v1/artifacts", form=ARTIFACT, token=token
    )
    if status != http.client.CREATED:
        raise SystemExit(f"the artifact was not published: {client.answer!r}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--workers", default="1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        database = Path(scratch, "hub.db")
        command = [HUB, "serve", "--listen", "127.0.0.1:0", "--database", database]
        hub = subprocess.Popen(
            [*command, "--workers", options.workers],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"REDLANE_HUB_TRUSTED_PROXIES": "127.0.0.1"},
        )
        found = re.search(r"http://(\S+):(\d+)", hub.stdout.readline())
        place = (found[1], int(found[2]))
        try:
            prepare(place, database)
            alone, _ = rate(place, options.seconds, logins=False)
            beside, answered = rate(place, options.seconds, logins=True)
        finally:
            hub.send_signal(signal.SIGTERM)
            hub.wait()
    done = answered[http.client.OK] / options.seconds
    turned_away = answered[http.client.TOO_MANY_REQUESTS] / options.seconds
    print(f"reads alone          {alone:8.0f} a second")
    print(f"reads beside logins  {beside:8.0f} a second")
    print(f"logins               {done:8.1f} a second, {turned_away:.1f} turned away")
    print(f"share kept           {beside / alone:8.2f}")


if __name__ == "__main__":
    main()
