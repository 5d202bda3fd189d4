"""The daemon's proxy: started when it is used, watched, told, and ended.

What runs here is the other end of the protocol, `sample_proxy.py`, and no real proxy.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from core.children import wait_until
from core.proxying_place import Place, address_of, line, placed
from engine_samples import policy, rules

from redlane.daemon.proxy_files import PORT, kept_port
from redlane.errors import DaemonError
from redlane.model.policy import Context
from redlane.model.settings import Proxy, Settings


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with placed(tmp_path) as made:
        yield made


def test_nothing_is_there_before_a_session_asks(place: Place) -> None:
    proxying = place.proxying()

    assert proxying.status() == {
        "installed": True,
        "state": "idle",
        "address": None,
        "pid": None,
        "intercepting": False,
        "problem": None,
    }
    assert not (place.paths.run / PORT).exists()


def test_the_first_connection_starts_it(place: Place) -> None:
    proxying = place.proxying()
    url = place.url(proxying)
    assert (proxying.status()["state"], proxying.status()["pid"]) == ("idle", None)

    assert place.ask(url, "good") == "ALLOW None"
    assert place.ask(url, "bad") == "BLOCK None"

    assert proxying.status()["state"] == "running"
    assert line(address_of(proxying), "pid") == "{0} {0}".format(
        proxying.status()["pid"]
    )


def test_a_role_about_traffic_starts_it_at_once(place: Place) -> None:
    network = replace(policy("b", "Block", "bad"), context=Context.NETWORK)
    place.bench.ruleset = rules(network)
    proxying = place.proxying()
    place.url(proxying)
    wait_until(lambda: proxying.status()["state"] == "running")


def test_who_shows_no_credential_is_refused(place: Place) -> None:
    proxying = place.proxying()
    url = place.url(proxying)
    own = url.partition("://")[2].rpartition("@")[0]
    other = place.bench.sessions.create(role="r")
    token = own.partition(":")[2]
    for credential in ("x:y", f"{other.id}:{token}", f"{own}a", own[:-1]):
        answer = line(address_of(proxying), f"{credential} good")
        assert answer == "BLOCK credential"
    place.bench.sessions.end(place.session.id)
    assert place.ask(url, "good") == "BLOCK credential"


def test_one_that_is_killed_is_started_again_on_the_same_port(place: Place) -> None:
    proxying = place.proxying()
    url = place.url(proxying)
    assert place.ask(url, "good") == "ALLOW None"
    before = proxying.status()["pid"]
    assert isinstance(before, int)

    os.kill(before, signal.SIGKILL)

    wait_until(lambda: place.ask(url, "good") == "ALLOW None")
    assert proxying.status()["pid"] != before


def test_a_daemon_that_starts_again_has_the_same_port_and_tokens(
    place: Place,
) -> None:
    proxying = place.proxying()
    url = place.url(proxying)
    assert place.ask(url, "good") == "ALLOW None"
    proxying.stop()
    assert place.ask(url, "good") == ""

    again = place.proxying()
    again.resume()

    assert place.ask(url, "good") == "ALLOW None"
    assert place.url(again) == url


def test_nothing_is_resumed_where_nothing_was(place: Place) -> None:
    proxying = place.proxying()
    proxying.resume()
    assert proxying.status()["address"] is None


def test_a_port_that_is_taken_is_not_the_proxys(place: Place) -> None:
    proxying = place.proxying()
    before = place.url(proxying)
    port = kept_port(place.paths.run)
    assert port is not None
    proxying.stop()
    with socket.create_server(("127.0.0.1", port)):
        after = place.url(place.proxying())
    assert after != before
    assert place.ask(after, "good") == "ALLOW None"


def test_an_address_of_the_settings_that_is_taken_is_told(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        place.settings = Settings(proxy=Proxy(listen=address))
        with pytest.raises(DaemonError, match=rf"{address} \(proxy.listen\)"):
            place.proxying().prepare()


@pytest.mark.parametrize("host", ["[::1]", "localhost", "127.0.0.2"])
def test_it_listens_where_the_settings_say(place: Place, host: str) -> None:
    if host == "[::1]":
        with (
            suppress(OSError),
            socket.create_server(("::1", 0), family=socket.AF_INET6),
        ):
            pass
        if not Path("/proc/net/if_inet6").exists():
            pytest.skip("NOT TESTED: there is no IPv6 here")
    place.settings = Settings(proxy=Proxy(listen=f"{host}:0"))
    url = place.url(place.proxying())
    assert place.ask(url, "good") == "ALLOW None"
    assert host.replace("localhost", "127.0.0.1") in url


def test_hanging_up_takes_a_review_back(place: Place) -> None:
    url = place.url(place.proxying())
    credential, _, address = url.partition("://")[2].rpartition("@")
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), 20) as connection:
        connection.sendall(f"{credential} please\n".encode())
        wait_until(lambda: len(place.bench.reviews.list()) == 1)
        line(address, "quit")
    wait_until(lambda: not place.bench.reviews.list())


def test_one_that_does_not_start_hangs_up_who_waits_and_says_why(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    program = "import sys; sys.exit('one\\nno library is there')"
    proxying = place.proxying((sys.executable, "-I", "-c", program))
    url = place.url(proxying)

    assert place.ask(url, "good") == ""

    wait_until(lambda: proxying.status()["state"] == "failing")
    assert proxying.status()["problem"] == "exit status 1: no library is there"
    assert "the proxy does not start: exit status 1: no library" in caplog.text
    with pytest.raises(DaemonError, match=r"does not start: .*no library is there"):
        proxying.prepare()


def test_one_that_is_mended_is_started_when_it_is_wanted_again(place: Place) -> None:
    broken = place.trusted.with_name("trusted.pem.broken")
    broken.touch()
    proxying = place.proxying()
    url = place.url(proxying)
    assert place.ask(url, "good") == ""
    wait_until(lambda: proxying.status()["problem"] == "exit status 1: it is broken")

    broken.unlink()

    wait_until(lambda: place.ask(url, "good") == "ALLOW None")
    assert proxying.status()["problem"] is None
    proxying.prepare()


@pytest.mark.parametrize("text", ["fail it is lost", "nonsense [1]", "nonsense x"])
def test_one_that_fails_or_talks_nonsense_is_started_again(
    place: Place, text: str
) -> None:
    proxying = place.proxying()
    url = place.url(proxying)
    assert place.ask(url, "good") == "ALLOW None"
    before = proxying.status()["pid"]

    line(address_of(proxying), text)

    wait_until(lambda: place.ask(url, "good") == "ALLOW None")
    assert proxying.status()["pid"] not in (before, None)


def test_it_ends_with_the_daemon(place: Place) -> None:
    proxying = place.proxying()
    url = place.url(proxying)
    assert place.ask(url, "good") == "ALLOW None"
    pid = proxying.status()["pid"]

    proxying.stop()

    assert not Path(f"/proc/{pid}").exists()
    assert place.ask(url, "good") == ""
    assert proxying.status()["address"] is None


def test_it_has_nothing_of_the_daemons(place: Place) -> None:
    proxying = place.proxying()
    place.url(proxying)
    address = address_of(proxying)
    environment = json.loads(line(address, "environment"))
    assert set(environment) == {"PATH", "LANG", "LC_ALL"}
    # Standard streams, listener, channel; the connection, and the listing itself. The
    # connection before may take a moment to be closed at its other end.
    wait_until(lambda: len(json.loads(line(address, "descriptors"))) == 7)


def test_it_dies_with_a_daemon_that_is_killed(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """\
        import sys, threading
        sys.path[:0] = [sys.argv[1], sys.argv[2]]
        from pathlib import Path
        from core.test_proxying import Place, line, address_of
        place = Place(Path(sys.argv[3]))
        proxying = place.proxying()
        place.url(proxying)
        print(line(address_of(proxying), "pid"), flush=True)
        threading.Event().wait()
        """
    )
    tests = Path(__file__).parents[1]
    words = [sys.executable, "-c", program, str(tests), str(tests), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        pid = int(daemon.stdout.readline().split()[0])
        descriptor = os.pidfd_open(pid)
        try:
            os.kill(pid, signal.SIGSTOP)  # it cannot end by itself now
            daemon.kill()
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            assert poll.poll(20_000)
        finally:
            os.close(descriptor)
