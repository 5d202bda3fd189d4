"""What sessions send and receive is judged as soon as the proxy's package is there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from boot.machine import Done, Machine
from boot.packages import ROOT, apt
from boot.product import add_user, ask, main_pid, serve, start, state

PACKAGE = "redlane-proxy"
ORIGIN = ROOT / "packaging" / "debian" / "tests" / "origin.py"
SECRET, HARMLESS = "our-secret", "harmless"
REFUSED = 7
"""What curl ends with when nobody listens."""
UNAVAILABLE = {"000", "502", "503"}
POLICIES: Mapping[str, Mapping[str, str]] = {
    "proxy-secret": {"context": "Network", "pattern": SECRET},
    "proxy-poison": {"context": "Inbound", "pattern": "poison"},
    "proxy-elsewhere": {"context": "Network", "pattern": "elsewhere.test"},
}
LOOP = """\
while :; do
    curl -s -o /dev/null -w 'free %{http_code}\\n' "$1/free"
    curl -s -o /dev/null -w 'secret %{http_code}\\n' -d our-secret "$1/"
    sleep 0.05
done >>~/log 2>&1
"""


@dataclass(frozen=True, slots=True)
class Traffic:
    """A machine with origins, and a role whose traffic is judged, for everybody."""

    machine: Machine
    plain: str
    secure: str
    unknown: str

    def origin(self, scheme: str) -> str:
        """Where the origin with that scheme is."""
        return {"http": self.plain, "https": self.secure}[scheme]

    def held(self, *words: str, user: str) -> Done:
        """Run a command in a session whose traffic is judged."""
        command = ("redlane", "run", "--role", "proxied", "--", *words)
        return self.machine.run(command, user=user, check=False)

    def curl(self, *words: str, user: str) -> Done:
        """Ask for something in such a session."""
        return self.held("curl", "--silent", "--show-error", *words, user=user)

    def reached(self, name: str) -> list[str]:
        """Every body that has reached an origin."""
        return self.machine.read(f"/srv/{name}/reached").splitlines()


@pytest.fixture(scope="module")
def traffic(machine: Machine) -> Traffic:
    policies = [
        {"id": name, "type": "Simple", "action": "Block", "reason": "a test", **each}
        for name, each in POLICIES.items()
    ]
    write(machine, "policies/proxied.json", policies)
    role = {"name": "proxied", "policies": [*POLICIES]}
    led = {**role, "name": "led", "egress": "proxy"}
    write(machine, "roles/proxied.json", [role, led])
    settings = json.loads(machine.read("/etc/redlane/settings.json"))
    more = {"system": {"user_roles": ["proxied", "led"]}, "tls": {"intercept": True}}
    write(machine, "settings.json", {**settings, **more})
    machine.write("/etc/hosts", "127.0.0.1 localhost origin.test unknown.test\n")
    machine.write("/srv/origin.py", ORIGIN.read_text(encoding="utf-8"))
    certify(machine, "origin.test", "/usr/local/share/ca-certificates/origin.crt")
    certify(machine, "unknown.test", "/srv/unknown.crt")
    machine.run("update-ca-certificates")
    plain = serve(machine, "plain")
    secure = serve(
        machine, "secure", "/usr/local/share/ca-certificates/origin.crt", "/srv/key"
    )
    unknown = serve(machine, "unknown", "/srv/unknown.crt", "/srv/key")
    add_user(machine, "ada")
    start(machine)
    return Traffic(
        machine,
        f"http://origin.test:{plain}",
        f"https://origin.test:{secure}",
        f"https://unknown.test:{unknown}",
    )


@pytest.fixture(params=["root", "ada"])
def user(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["http", "https"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(machine: Machine, name: str, content: object) -> None:
    machine.write(f"/etc/redlane/{name}", json.dumps(content))


def certify(machine: Machine, host: str, path: str) -> None:
    """A certificate of a host, with the one key that there is."""
    machine.run("test -e /srv/key || openssl genrsa -out /srv/key 2048 2>&1")
    words = f"openssl req -x509 -key /srv/key -days 2 -subj /CN={host} -out {path}"
    machine.run(f"{words} -addext subjectAltName=DNS:{host}")


def proxy(machine: Machine) -> Mapping[str, Any]:
    """What the daemon says of its proxy."""
    found: Mapping[str, Any] = ask(machine, "/api/status").body["proxy"]
    return found


def test_harmless_request_passes(traffic: Traffic, user: str, scheme: str) -> None:
    done = traffic.curl(f"{traffic.origin(scheme)}/free", user=user)
    assert (done.stdout, done.stderr) == ("free\n", "")


def test_secret_does_not_leave(traffic: Traffic, user: str, scheme: str) -> None:
    origin = traffic.origin(scheme)
    done = traffic.curl("--data", SECRET, "--include", f"{origin}/", user=user)
    assert " 403 " in done.stdout.splitlines()[-1] or " 403" in done.stdout
    assert "proxy-secret" in done.stdout
    done = traffic.curl("--data", HARMLESS, f"{origin}/", user=user)
    assert done.stdout == "taken\n"
    for name in ("plain", "secure"):
        assert SECRET not in "".join(traffic.reached(name))


def test_poison_does_not_come_in(traffic: Traffic, user: str, scheme: str) -> None:
    done = traffic.curl(f"{traffic.origin(scheme)}/poison", user=user)
    assert "proxy-poison" in done.stdout
    assert "as the poison says" not in done.stdout


def test_session_leaves_by_the_proxy_alone(traffic: Traffic, user: str) -> None:
    curl = "curl --silent --max-time 20"
    past = f"{curl} --noproxy '*'"
    tried = f"{curl} {traffic.plain}/free; {past} {traffic.plain}/free"
    elsewhere = f"{past} http://elsewhere.test/; echo $?"
    words = ("redlane", "run", "--role", "led", "--", "sh", "-c")
    done = traffic.machine.run((*words, f"{tried}; {elsewhere}"), user=user)
    assert done.stdout == f"free\nfree\n{REFUSED}\n"
    told = "redlane: refused connect elsewhere.test:80 (proxy-elsewhere): "
    assert told in done.stderr


def test_agents_trust_the_authority_of_the_machine(traffic: Traffic, user: str) -> None:
    done = traffic.curl("--verbose", f"{traffic.secure}/free", user=user)
    assert "Redlane interception" in done.stderr
    path = "/var/lib/redlane/ca"
    traffic.machine.run(("cat", f"{path}/bundle.pem"), user="ada")
    status = ("stat", "--format=%a %U", f"{path}/key.pem")
    assert traffic.machine.run(status).stdout == "600 redlane\n"
    assert traffic.machine.run(("ls", path), user="ada").stdout
    key = traffic.machine.run(("cat", f"{path}/key.pem"), user="ada", check=False)
    assert key.returncode


def test_origin_that_nobody_vouches_for_is_not_reached(
    traffic: Traffic, user: str
) -> None:
    done = traffic.curl("--data", HARMLESS, f"{traffic.unknown}/", user=user)
    assert "taken" not in done.stdout
    assert not traffic.reached("unknown")


def test_what_was_refused_is_an_event(traffic: Traffic, user: str) -> None:
    traffic.curl("--data", SECRET, f"{traffic.plain}/", user=user)
    traffic.curl(f"{traffic.plain}/poison", user=user)
    events = ask(traffic.machine, "/api/events?limit=1000").body["events"]
    told = {(each["policy"], each["context"], each["verdict"]) for each in events}
    wanted = {(name, each["context"], "BLOCK") for name, each in POLICIES.items()}
    assert wanted <= told


def test_proxy_is_a_process_of_the_service(traffic: Traffic) -> None:
    """It has the daemon's rights less its capabilities, and is the package's."""
    machine, pid = traffic.machine, proxy(traffic.machine)["pid"]
    read = machine.read(f"/proc/{pid}/status")
    shown = dict(line.split(":", 1) for line in read.splitlines())
    assert shown["PPid"].strip() == str(main_pid(machine))
    assert {shown[each].strip() for each in ("CapEff", "CapPrm", "CapAmb")} == {
        "0" * 16
    }
    assert shown["NoNewPrivs"].strip() == "1"
    owner = machine.run(("stat", "--format=%U", f"/proc/{pid}")).stdout
    assert owner == "redlane\n"
    assert machine.read(f"/proc/{pid}/cgroup").strip().endswith("/redlane.service")
    words = machine.read(f"/proc/{pid}/cmdline").split("\0")
    assert words[0] == "/usr/lib/redlane-proxy/bin/python3"


def test_proxy_listens_on_loopback_alone(traffic: Traffic) -> None:
    host, _, port = proxy(traffic.machine)["address"].rpartition(":")
    assert host == "127.0.0.1"
    table = traffic.machine.read("/proc/net/tcp") + traffic.machine.read(
        "/proc/net/tcp6"
    )
    listening = [line.split() for line in table.splitlines() if " 0A " in line]
    found = [each[1] for each in listening if each[1].endswith(f":{int(port):04X}")]
    assert found == [f"0100007F:{int(port):04X}"]


def test_nobody_else_is_served(traffic: Traffic) -> None:
    address = proxy(traffic.machine)["address"]
    words = (
        "curl",
        "--silent",
        "--proxy",
        f"http://{address}",
        f"{traffic.plain}/free",
    )
    done = traffic.machine.run((*words, "--write-out", "%{http_code}"), user="ada")
    assert done.stdout.endswith("407")


def begin_session(traffic: Traffic) -> None:
    """An agent that keeps trying."""
    words = ("redlane", "run", "--role", "proxied", "--", "dash", "-c", LOOP, "loop")
    started = ("systemd-run", "--quiet", "--uid=ada", "--setenv=HOME=/home/ada")
    traffic.machine.run((*started, *words, traffic.plain))
    goes_on(traffic.machine)


def goes_on(machine: Machine) -> None:
    """Wait until the agent's requests are served from now on."""
    before = len(machine.run("cat /home/ada/log", check=False).stdout.splitlines())
    later = f"tail -n +{before + 1} /home/ada/log | grep -q 'free 200'"
    machine.until(later, seconds=60)


def statuses(machine: Machine, what: str) -> set[str]:
    """What the agent's requests of a kind have come to."""
    lines = machine.read("/home/ada/log").splitlines()
    return {each.split()[1] for each in lines if each.startswith(f"{what} ")}


def test_killed_proxy_is_started_again_where_it_was(traffic: Traffic) -> None:
    machine = traffic.machine
    begin_session(traffic)
    before, daemon = proxy(machine), main_pid(machine)
    machine.run(("kill", "-KILL", str(before["pid"])))
    goes_on(machine)
    after = proxy(machine)
    assert (after["address"], after["state"]) == (before["address"], "running")
    assert after["pid"] != before["pid"]
    assert main_pid(machine) == daemon
    assert statuses(machine, "free") <= {"200"} | UNAVAILABLE
    assert statuses(machine, "secret") <= {"403"} | UNAVAILABLE
    assert SECRET not in "".join(traffic.reached("plain"))


def test_session_goes_on_with_the_next_daemon(traffic: Traffic) -> None:
    """Where the proxy was, and by the same credentials."""
    machine, before = traffic.machine, proxy(traffic.machine)
    machine.run("systemctl restart redlane.service")
    start(machine)
    goes_on(machine)
    assert proxy(machine)["address"] == before["address"]
    assert statuses(machine, "secret") <= {"403"} | UNAVAILABLE
    assert SECRET not in "".join(traffic.reached("plain"))


def test_stopped_service_is_a_refused_connection(traffic: Traffic) -> None:
    machine, before = traffic.machine, proxy(traffic.machine)
    machine.run("systemctl stop redlane.socket redlane.service")
    asked = (
        "curl",
        "--silent",
        "--proxy",
        f"http://{before['address']}",
        traffic.plain,
    )
    assert machine.run(asked, check=False).returncode == REFUSED
    machine.until("test $(tail -n 1 /home/ada/log | cut -d ' ' -f 2) = 000")
    assert not machine.run("pgrep -f redlane[.]proxy", check=False).stdout
    machine.run("systemctl start redlane.socket")
    start(machine)
    goes_on(machine)
    assert SECRET not in "".join(traffic.reached("plain"))


@pytest.fixture(scope="module")
def removed(traffic: Traffic) -> Traffic:
    """The machine without the package, from here on; a session was running then."""
    goes_on(traffic.machine)
    apt(traffic.machine, "remove", PACKAGE)
    return traffic


def test_role_is_refused_once_the_package_is_removed(
    removed: Traffic, user: str
) -> None:
    done = removed.held("echo", "ran", user=user)
    assert done.returncode not in {0, 124}
    assert not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("redlane: ")
    assert PACKAGE in line


def test_nothing_of_it_is_left_but_what_it_wrote(removed: Traffic) -> None:
    machine = removed.machine
    start(machine)
    assert proxy(machine)["installed"] is False
    assert not machine.run("pgrep -f redlane[.]proxy", check=False).stdout
    assert machine.run("test -e /usr/lib/redlane-proxy", check=False).returncode
    assert not state(machine, "redlane.service", "DropInPaths")
    assert state(machine, "redlane.service", "PrivateNetwork") == "yes"
    machine.run("test -e /var/lib/redlane/ca/key.pem")


def test_session_of_before_reaches_nothing_any_more(removed: Traffic) -> None:
    machine = removed.machine
    before = len(machine.read("/home/ada/log").splitlines())
    machine.until(f"[ $(wc -l < /home/ada/log) -gt {before + 10} ]")
    lines = machine.read("/home/ada/log").splitlines()[before:]
    assert {each.split()[1] for each in lines} == {"000"}
    assert SECRET not in "".join(removed.reached("plain"))


def test_role_without_such_policies_is_as_ever(removed: Traffic, user: str) -> None:
    write(removed.machine, "roles/plain.json", {"name": "plain", "policies": []})
    more = {"system": {"user_roles": ["plain", "proxied"]}}
    settings = json.loads(removed.machine.read("/etc/redlane/settings.json"))
    write(removed.machine, "settings.json", {**settings, **more})
    removed.machine.run("redlane reload")
    done = removed.machine.run("redlane run --role plain -- echo ran", user=user)
    assert (done.stdout, done.stderr) == ("ran\n", "")


def test_purge_takes_the_authority_away(removed: Traffic) -> None:
    apt(removed.machine, "purge", PACKAGE)
    assert removed.machine.run("ls /var/lib/redlane/ca", check=False).returncode
    left = removed.machine.run("find / -xdev -name '*redlane-proxy*'").stdout.split()
    assert not [each for each in left if not each.startswith("/debs")]


def test_package_that_comes_back_is_found(removed: Traffic, user: str) -> None:
    machine = removed.machine
    if user == "root":
        start(machine)
        apt(machine, "install", f"/debs/{deb_of(machine)}")
    done = removed.curl(f"{removed.secure}/free", user=user)
    assert (done.stdout, done.stderr) == ("free\n", "")


def deb_of(machine: Machine) -> str:
    return machine.run(f"cd /debs && ls {PACKAGE}_*.deb").stdout.strip()
