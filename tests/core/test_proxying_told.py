"""What the daemon tells its proxy and its sessions, and what it keeps on disk."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from core.children import wait_until
from core.proxying_place import Place, address_of, line, placed, told

from redlane.daemon.proxy_files import KEY, PORT, kept_key, kept_port
from redlane.errors import DaemonError, RedlaneError
from redlane.model.settings import InboundScan, Proxy, Settings, Tls


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with placed(tmp_path) as made:
        yield made


def test_the_proxy_is_told_the_settings(place: Place) -> None:
    place.settings = Settings(
        tls=Tls(passthrough_hosts=("pinned.example",)),
        proxy=Proxy(
            scan_headers=True,
            provider_hosts=("api.example",),
            mcp_servers={"docs": "docs.example"},
        ),
        inbound_scan=InboundScan(enabled=False, budget_ms=7),
    )
    proxying = place.proxying()
    place.url(proxying)
    host, port = address_of(proxying).split(":")
    assert told(proxying) == {
        "intercept": False,
        "passthrough_hosts": ["pinned.example"],
        "provider_hosts": ["api.example"],
        "mcp_servers": {"docs": "docs.example"},
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


def test_change_of_a_session_reaches_it(place: Place) -> None:
    proxying = place.proxying()
    place.url(proxying)
    address = address_of(proxying)
    assert line(address, "looks") == "0"
    before = told(proxying)

    proxying.look_again()

    wait_until(lambda: line(address, "looks") == "1")
    assert told(proxying) == before


def test_proxy_that_hears_nothing_is_not_waited_for(place: Place) -> None:
    """It looks again once it hears, however often it was told."""
    proxying = place.proxying()
    place.url(proxying)
    address = address_of(proxying)
    pid = int(line(address, "pid").split()[0])
    os.kill(pid, signal.SIGSTOP)
    for _ in range(2000):
        proxying.look_again()
    os.kill(pid, signal.SIGCONT)

    proxying.look_again()

    wait_until(lambda: int(line(address, "looks")) > 0)
    assert proxying.status()["pid"] == pid


def test_settings_that_are_too_long_refuse_the_reload(place: Place) -> None:
    hosts = tuple(f"{each}.{'a' * 60}.example" for each in range(3000))
    with pytest.raises(DaemonError, match=r"passthrough_hosts.* too long"):
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
