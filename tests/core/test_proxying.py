"""The daemon's proxy: started when it is used, watched, told, and ended.

What runs here is the other end of the protocol, `sample_proxy.py`, and no real proxy.
"""

import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core.children import wait_until
from engine_samples import policy, rules
from gate_bench import Bench

from redlane.contexts.network.authority import Authority
from redlane.control.metrics import Metrics
from redlane.control.proxy_desk import ProxyDesk
from redlane.control.proxy_lanes import ProxyLanes
from redlane.control.proxy_tokens import ProxyTokens
from redlane.daemon.proxy_files import KEY, PORT, kept_key, kept_port
from redlane.daemon.proxying import Proxying
from redlane.errors import DaemonError, RedlaneError
from redlane.model.content import TextContent
from redlane.model.policy import Context
from redlane.model.settings import InboundScan, Proxy, Settings, Tls
from redlane.paths import Paths
from redlane.policies.loaded import Loaded

SAMPLE = Path(__file__).with_name("sample_proxy.py")
COMMAND = (sys.executable, "-I", str(SAMPLE))


class Place:
    """A daemon's run directory, and what is joined to the proxy in it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        environ = {"HOME": str(base), "REDLANE_HOME": str(base / "r")}
        self.paths = Paths.from_environment(environ)
        self.paths.run.mkdir(parents=True)
        self.trusted = base / "trusted.pem"
        self.trusted.write_text("# trusted\n")
        self.ruleset = rules(policy("b", "Block", "bad"), policy("f", "Flag", "please"))
        self.bench = Bench(base, self.ruleset)
        self.settings = Settings()
        self.session = self.bench.sessions.create(role="r")
        self.made: list[Proxying] = []

    def proxying(self, command: tuple[str, ...] | None = COMMAND) -> Proxying:
        """The proxy of a daemon that starts now."""
        tokens = ProxyTokens(kept_key(self.paths.run))
        desk = ProxyDesk(
            self.bench.gate,
            self.bench.sessions,
            tokens,
            lambda context, data, *_: TextContent(context, data),
            Metrics(),
        )
        made = Proxying(
            self.paths,
            lambda: Loaded(self.bench.ruleset, self.settings, ()),
            Authority(self.paths.authority, self.trusted),
            tokens,
            command,
            ProxyLanes(desk, self.bench.reviews.cancel),
        )
        self.made.append(made)
        return made

    def url(self, proxying: Proxying) -> str:
        """What a session is told."""
        proxying.prepare()
        offer = proxying.offer(self.session.id, self.session.role)
        assert offer is not None
        return str(offer["url"])

    def ask(self, url: str, text: str) -> str:
        """What a line to the proxy of an address is answered; "": it was hung up."""
        _, _, rest = url.partition("://")
        credential, _, address = rest.rpartition("@")
        return line(address, f"{credential} {text}")


def line(address: str, text: str) -> str:
    """What a proxy answers to a line; "" when it is hung up."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), 20) as connection:
            connection.sendall(f"{text}\n".encode())
            data = b""
            while not data.endswith(b"\n"):
                piece = connection.recv(1 << 16)
                if not piece:
                    break
                data += piece
    except ConnectionError:
        return ""
    return data.decode().strip()


def told(proxying: Proxying) -> dict[str, Any]:
    """The settings that the proxy has been told."""
    found: dict[str, Any] = json.loads(line(address_of(proxying), "settings"))
    return found


def address_of(proxying: Proxying) -> str:
    return str(proxying.status()["address"])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    try:
        yield made
    finally:
        made.bench.reviews.close()
        for each in made.made:
            each.stop()


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


def test_the_proxy_is_told_the_settings(place: Place) -> None:
    place.settings = Settings(
        tls=Tls(passthrough_hosts=("pinned.example",)),
        proxy=Proxy(scan_headers=True, provider_hosts=("api.example",)),
        inbound_scan=InboundScan(enabled=False, budget_ms=7),
    )
    proxying = place.proxying()
    place.url(proxying)
    host, port = address_of(proxying).split(":")
    assert told(proxying) == {
        "intercept": False,
        "passthrough_hosts": ["pinned.example"],
        "provider_hosts": ["api.example"],
        "scan_headers": True,
        "inbound": {
            "enabled": False,
            "oversize_action": "flag",
            "max_buffer_bytes": 8 * 1024 * 1024,
            "max_segments": 3,
            "budget_ms": 7,
        },
        "authority": None,
        "trusted": str(place.trusted),
        "own": [[host, int(port)]],
    }


def test_a_reload_reaches_it(place: Place) -> None:
    proxying = place.proxying()
    place.url(proxying)
    assert told(proxying)["intercept"] is False
    pid = proxying.status()["pid"]

    fresh = Settings(tls=Tls(intercept=True))
    proxying.check(fresh)
    place.settings = fresh
    proxying.refresh()

    wait_until(lambda: told(proxying)["intercept"])
    key = place.paths.authority / "key.pem"
    assert told(proxying)["authority"] == str(key)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert proxying.status()["pid"] == pid


def test_settings_that_are_too_long_refuse_the_reload(place: Place) -> None:
    hosts = tuple(f"{each}.{'a' * 60}.example" for each in range(3000))
    with pytest.raises(DaemonError, match=r"passthrough_hosts .* too long"):
        place.proxying().check(Settings(tls=Tls(passthrough_hosts=hosts)))


def test_a_session_is_told_whom_to_trust(place: Place) -> None:
    place.settings = Settings(tls=Tls(intercept=True))
    proxying = place.proxying()
    proxying.prepare()

    offer = proxying.offer(place.session.id, "r")

    assert offer is not None
    assert Path(str(offer["bundle"])).read_text().startswith("# trusted\n-----BEGIN")
    assert Path(str(offer["authority"])).read_text().startswith("-----BEGIN")


def test_without_an_authority_no_session_is_prepared(place: Place) -> None:
    place.settings = Settings(tls=Tls(intercept=True))
    place.paths.authority.write_text("in the way")
    proxying = place.proxying()
    with pytest.raises(DaemonError, match=r"^tls.intercept: .*Not a directory"):
        proxying.prepare()
    with pytest.raises(DaemonError, match=r"^tls.intercept: "):
        proxying.check(place.settings)
    assert line(address_of(proxying), "settings") == ""


def test_another_authority_is_told(place: Place) -> None:
    place.settings = Settings(tls=Tls(intercept=True))
    proxying = place.proxying()
    place.url(proxying)
    before = (place.paths.authority / "cert.pem").read_bytes()

    made = proxying.regenerate()

    assert Path(str(made["authority"])).read_bytes() != before
    assert told(proxying)["intercept"]


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
    # Standard streams, listener, channel; the connection, and the listing itself.
    assert len(json.loads(line(address, "descriptors"))) == 7


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


def test_without_a_proxy_nothing_is_offered(place: Place) -> None:
    proxying = place.proxying(None)
    proxying.resume()
    proxying.prepare()

    assert proxying.offer(place.session.id, "r") is None
    status = proxying.status()
    assert (status["installed"], status["state"]) == (False, None)
    assert str(status["problem"]).endswith("redlane-proxy")
    assert not place.paths.authority.exists()


def test_the_files_are_the_daemons_alone(place: Place) -> None:
    place.url(place.proxying())
    modes = {
        name: stat.S_IMODE((place.paths.run / name).stat().st_mode)
        for name in (KEY, PORT)
    }
    assert modes == {KEY: 0o600, PORT: 0o600}


@pytest.mark.parametrize("harm", ["readable", "short", "link", "directory"])
def test_a_key_that_is_not_ours_alone_is_used_no_more(
    tmp_path: Path, harm: str
) -> None:
    before = kept_key(tmp_path)
    path = tmp_path / KEY
    match harm:
        case "readable":
            path.chmod(0o644)
        case "short":
            path.write_bytes(b"short")
        case "link":
            path.rename(tmp_path / "elsewhere")
            path.symlink_to(tmp_path / "elsewhere")
        case _:
            path.unlink()
            path.mkdir()
            with pytest.raises(RedlaneError, match="Is a directory"):
                kept_key(tmp_path)
            return

    after = kept_key(tmp_path)

    assert after != before
    assert kept_key(tmp_path) == after
    assert not path.is_symlink()


@pytest.mark.parametrize("text", ["", "x", "0", "65536", "-1", "1" * 70])
def test_a_port_that_is_none_is_not_used(tmp_path: Path, text: str) -> None:
    path = tmp_path / PORT
    path.write_text(text)
    path.chmod(0o600)
    assert kept_port(tmp_path) is None
