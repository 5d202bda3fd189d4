"""Sessions and the proxy: who is offered it, what `run` sets, and `redlane ca`."""

import os
import pty
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from spec.redlane_home import REDLANE, Home, Ran, wait_for
from system.process_tree import Actor

pytest.importorskip("mitmproxy")

NETWORK = {
    "id": "no-secret",
    "type": "Simple",
    "action": "Block",
    "context": "Network",
    "pattern": "secret",
}
_WITHOUT = """\
import sys
sys.modules["mitmproxy"] = None
from redlane.cli.main import main
sys.argv[0] = "redlane"
sys.exit(main())"""
"""The command line where mitmproxy is not installed."""


@pytest.fixture
def home(home: Home) -> Home:
    """The usual home, with a role about requests."""
    home.policies(NETWORK, file="network.json")
    home.role("network", "no-secret", "no-rm")
    home.role("open", "no-secret", "no-rm", egress="any")
    return home


def without_proxy(home: Home, *words: str) -> Ran:
    """Run a command line that finds no mitmproxy."""
    return home.run("-I", "-c", _WITHOUT, *words, program=Path(sys.executable))


def environment(home: Home, *options: str) -> dict[str, str]:
    """The environment of an agent."""
    ran = home.run("run", *options, "--", "env", "-0")
    assert ran.code == 0, ran
    return dict(each.split("=", 1) for each in ran.out.split("\0") if "=" in each)


def open_session(home: Home, **body: object) -> dict[str, object]:
    answer = home.control.post("/api/sessions", body)
    assert answer.status == 201, answer
    found: dict[str, object] = answer.json
    return found


def test_the_proxy_is_offered_to_who_opens_a_session_and_asks(daemon: Home) -> None:
    assert "proxy" not in open_session(daemon)

    session = open_session(daemon, wants_proxy=True)

    offer = session["proxy"]
    assert isinstance(offer, dict)
    assert offer["url"].startswith(f"http://{session['id']}:")
    assert (offer["bundle"], offer["authority"]) == (None, None)
    for path in (f"/api/sessions/{session['id']}", "/api/sessions", "/api/status"):
        assert offer["url"] not in daemon.control.get(path).text


def test_check_whether_a_server_is_there_fails_while_it_is_not(daemon: Home) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
        ran = daemon.run("run", "--role", "network", "--", "curl", "-s", url)
    assert "Connect call failed" in ran.out
    assert ran.code == 18  # it broke off: natively 7


def test_an_agent_is_offered_nothing(daemon: Home, supervisor: Actor) -> None:
    body = {"root_pid": supervisor.pid}
    assert daemon.control.post("/api/sessions", body).status == 201
    socket_path = str(daemon.dir / "run" / "control.sock")
    for method, path in (("POST", "/api/sessions"), ("POST", "/api/ca/regenerate")):
        status, _ = supervisor.call(
            "child", socket_path, method, path, '{"wants_proxy": true}'
        )
        assert status == 403


def test_wants_proxy_is_true_or_false(daemon: Home) -> None:
    answer = daemon.control.post("/api/sessions", {"wants_proxy": "yes"})
    assert (answer.status, "wants_proxy" in answer.error) == (400, True)


def test_run_leads_an_agent_to_the_proxy(daemon: Home) -> None:
    daemon.env |= {"HTTP_PROXY": "http://elsewhere", "no_proxy": "*"}
    daemon.env["SSL_CERT_FILE"] = "/mine.pem"

    found = environment(daemon)

    url = found["HTTP_PROXY"]
    names = ("HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    assert {found[name] for name in names} == {url}
    assert found["NO_PROXY"] == found["no_proxy"] == ""
    assert url.startswith(f"http://{found['REDLANE_SESSION']}:")
    assert found["SSL_CERT_FILE"] == "/mine.pem"


def test_run_has_an_agent_trust_the_authority(home: Home) -> None:
    home.settings(tls={"intercept": True})
    home.env |= {"SSL_CERT_DIR": "/certs", "REQUESTS_CA_BUNDLE": "/mine.pem"}
    home.start("--role", "guard")

    found = environment(home)

    bundle = Path(found["SSL_CERT_FILE"])
    assert bundle == home.dir / "ca" / "bundle.pem"
    assert found["REQUESTS_CA_BUNDLE"] == str(bundle)
    assert "SSL_CERT_DIR" not in found
    certificate = home.run("ca", "print").out
    assert bundle.read_text().endswith(certificate)
    assert Path(found["NODE_EXTRA_CA_CERTS"]).read_text() == certificate
    assert str(bundle) in Path(found["WGETRC"]).read_text()


def test_each_session_is_known_by_a_credential_of_its_own(daemon: Home) -> None:
    one, other = environment(daemon), environment(daemon)
    assert one["HTTP_PROXY"] != other["HTTP_PROXY"]
    address = one["HTTP_PROXY"].rpartition("@")[2]
    assert other["HTTP_PROXY"].endswith(f"@{address}")


def test_a_restart_keeps_the_port(daemon: Home) -> None:
    before = environment(daemon)["HTTP_PROXY"].rpartition("@")[2]
    key = (daemon.dir / "run" / "proxy.key").read_bytes()

    daemon.run("restart")

    assert daemon.control.get("/api/status").json["proxy"]["address"] == before
    assert environment(daemon)["HTTP_PROXY"].rpartition("@")[2] == before
    assert (daemon.dir / "run" / "proxy.key").read_bytes() == key


def test_status_tells_of_the_proxy(daemon: Home) -> None:
    line = "proxy:        starts with the first request"
    assert f"{line}; HTTPS by host alone\n" in daemon.run("status").out

    address = environment(daemon)["HTTP_PROXY"].rpartition("@")[2]

    told = f"{line} at {address}; HTTPS by host alone\n"
    assert told in daemon.run("status").out
    proxy = daemon.control.get("/api/status").json["proxy"]
    assert (proxy["installed"], proxy["state"], proxy["pid"]) == (True, "idle", None)


def test_a_reload_turns_interception_on(daemon: Home) -> None:
    environment(daemon)
    daemon.settings(tls={"intercept": True})

    assert daemon.run("reload").code == 0

    assert "HTTPS is intercepted" in daemon.run("status").out
    assert (daemon.dir / "ca" / "key.pem").exists()


def test_a_reload_that_cannot_intercept_changes_nothing(daemon: Home) -> None:
    environment(daemon)
    daemon.write("ca", "in the way")
    daemon.settings(tls={"intercept": True})

    ran = daemon.run("reload")

    assert ran.code != 0
    assert "tls.intercept" in ran.said
    assert "HTTPS by host alone" in daemon.run("status").out


def test_a_session_that_cannot_be_intercepted_is_refused(home: Home) -> None:
    home.settings(tls={"intercept": True})
    home.write("ca", "in the way")
    home.start("--role", "guard")

    ran = home.run("run", "--", "echo", "ran")

    assert ran.out == ""
    assert "tls.intercept" in ran.refusal


@pytest.mark.parametrize(
    ("role", "says"),
    [
        ("network", "the session reaches other machines by the proxy alone"),
        ("open", "the network is judged for programs that go by"),
    ],
)
def test_a_terminal_is_told_what_is_not_seen(
    daemon: Home, role: str, says: str
) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [REDLANE, "run", "--role", role, "--", "echo", "ran"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=daemon.environment(),
            check=True,
            text=True,
        )
        told = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.stdout == "ran\n"
    assert told.startswith(f"redlane: {says}")
    assert told.count("\n") == 1
    assert daemon.run("run", "--", "echo", "ran").err == ""


def test_without_a_proxy_roles_about_requests_are_refused(home: Home) -> None:
    started = without_proxy(home, "start", "--role", "network")
    assert started.code == 0, started
    assert "install the package redlane-proxy" in started.err

    ran = home.run("run", "--", "echo", "ran")
    assert ran.out == ""
    assert "'network'" in ran.refusal
    assert ran.refusal.endswith("install the package redlane-proxy")
    session = open_session(home, role="other")
    path = f"/api/sessions/{session['id']}"
    # Without processes a session is a name to judge under.
    assert home.control.call("PATCH", path, {"role": "network"}).status == 200
    status = home.run("status").out
    assert "proxy:        no proxy is installed: install the package" in status


def test_without_a_proxy_other_roles_go_on(home: Home) -> None:
    without_proxy(home, "start", "--role", "other")
    home.env["HTTP_PROXY"] = "http://corporate"

    found = environment(home)

    assert found["HTTP_PROXY"] == "http://corporate"
    assert open_session(home, wants_proxy=True)["proxy"] is None
    refused = home.run("ca", "regenerate").refusal
    assert refused.endswith("install the package redlane-proxy")


def test_without_a_proxy_a_sessions_role_is_not_one_about_requests(home: Home) -> None:
    without_proxy(home, "start", "--role", "other")
    with subprocess.Popen(
        [REDLANE, "run", "--", "cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=home.environment(),
    ) as agent:
        rows = wait_for(
            lambda: [
                each
                for each in home.control.rows("/api/sessions")
                if each["root_pid"] == agent.pid and each["state"] == "running"
            ]
        )
        ran = home.run("session", "set-role", "network", "--session", rows[0]["id"])
        agent.communicate()
    assert ran.refusal.endswith("install the package redlane-proxy")


def test_without_a_proxy_config_check_warns(home: Home) -> None:
    ran = without_proxy(home, "config", "check", "--json")
    assert ran.code == 0
    subjects = [each["subject"] for each in ran.json["warnings"]]
    assert "contexts Network and Inbound" in subjects
    assert "contexts Network and Inbound" not in home.run("config", "check").out


def test_ca_is_made_at_first_use_and_shown(home: Home) -> None:
    path = Path(home.run("ca", "path").out.strip())

    assert path == home.dir / "ca" / "cert.pem"
    assert home.run("ca", "print").out == path.read_text()
    assert stat.S_IMODE(path.with_name("key.pem").stat().st_mode) == 0o600


@pytest.fixture(params=["running", "not running"])
def either(request: pytest.FixtureRequest, home: Home) -> Home:
    if request.param == "running":
        home.settings(tls={"intercept": True})
        home.start("--role", "guard")
    return home


def test_ca_is_replaced(either: Home) -> None:
    before = either.run("ca", "print").out

    ran = either.run("ca", "regenerate")

    assert (ran.code, ran.out) == (0, "")
    after = either.run("ca", "print").out
    assert after != before
    assert (either.dir / "ca" / "bundle.pem").read_text().endswith(after)


def test_ca_is_not_for_agents_to_replace(daemon: Home) -> None:
    daemon.run("ca", "path")
    ran = daemon.run("run", "--", REDLANE, "ca", "regenerate")
    assert "refused inside a session" in ran.refusal


def test_what_ca_cannot_write_is_one_line(home: Home) -> None:
    home.write("ca", "in the way")
    for word in ("path", "print", "regenerate"):
        assert "Not a directory" in home.run("ca", word).refusal


def test_the_proxy_listens_for_this_machine_alone(home: Home) -> None:
    home.settings(proxy={"listen": "0.0.0.0:0"})
    started = home.run("start", "--role", "guard")
    assert (started.code, "proxy.listen" in started.err) == (2, True)


def test_an_address_that_is_taken_refuses_the_session(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        home.settings(proxy={"listen": f"127.0.0.1:{port}"})
        home.start("--role", "guard")
        refused = home.run("run", "--", "echo", "ran").refusal
    assert f"127.0.0.1:{port} (proxy.listen)" in refused
