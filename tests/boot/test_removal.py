"""What was installed and used leaves nothing when it is purged."""

import json
import re
from pathlib import Path

from boot.machine import Machine
from boot.packages import NAMES, apt, install
from boot.product import add_user, guarded, hub, start, state

PLACES = "find / /run /tmp /dev/shm -xdev"
# What any package leaves, and users that dpkg must not take away.
COMMON = re.compile(
    r"/(etc/(\.pwd\.lock|(group|gshadow|passwd|shadow|subuid|subgid)-)"
    r"|home/ada(/.*)?|tmp/.*|var/mail/ada|var/spool/mail/ada"
    r"|run/(systemd/(ask-password-block|journal/streams|units|sessions|users|inaccessible|transient)/?.*"
    r"|user/.*|log/.*|lock/.*|udev/.*)"
    r"|var/(cache/(apt|ldconfig|debconf|man)/.*|log/(apt|journal|dpkg|alternatives).*"
    r"|lib/(dpkg|apt|systemd/(catalog|timers|random-seed|linger|coredump))/.*))"
)
OWN_IN_DPKG = "find /var/lib/dpkg/info /var/lib/systemd -name '*redlane*'"


def files(machine: Machine) -> set[str]:
    """Every path there is, less what any package leaves."""
    found = machine.run(f"{PLACES} 2>/dev/null", check=False).stdout.splitlines()
    return {each for each in found if not COMMON.fullmatch(each)}


def with_needs(machine: Machine, debs: tuple[Path, ...]) -> None:
    """Install what our packages need, and not them."""
    plan = apt(machine, "--simulate", "install", *(f"/debs/{x.name}" for x in debs))
    needs = re.findall(r"^Inst (\S+)", plan.stdout, re.MULTILINE)
    apt(machine, "install", *(each for each in needs if each not in NAMES))


def use(machine: Machine) -> None:
    """Have everything write what it writes."""
    settings = json.loads(machine.read("/etc/redlane/settings.json"))
    intercepting = {**settings, "tls": {"intercept": True}}
    machine.write("/etc/redlane/settings.json", json.dumps(intercepting))
    start(machine)
    add_user(machine, "ada")
    assert guarded(machine, "rm -rf ~", user="ada").returncode == 126
    for path in ("/var/lib/redlane/ca/key.pem", "/run/redlane/proxy.port"):
        machine.run(("test", "-e", path))
    ada = {"email": "ada@example.org", "password": "correct horse"}
    assert hub(machine, "/api/v1/register", ada).status == 201
    machine.write("/etc/redlane/policies/our-own.json", "[]")
    machine.write("/etc/systemd/system/redlane.service.d/own.conf", "[Service]\n")
    machine.run("rm -r /etc/systemd/system/redlane.service.d")


def test_purge_leaves_nothing(bare: Machine, debs: tuple[Path, ...]) -> None:
    with_needs(bare, debs)
    before = files(bare)
    install(bare, debs)
    use(bare)
    apt(bare, "purge", *NAMES)
    left = {each for each in files(bare) - before if "__pycache__" not in each}
    assert not left
    assert not bare.run(OWN_IN_DPKG).stdout
    assert not bare.run("pgrep -u redlane -u redlane-hub", check=False).stdout
    assert not bare.run("systemctl --failed --plain --no-legend").stdout


def test_remove_keeps_settings_and_data(fresh: Machine) -> None:
    use(fresh)
    apt(fresh, "remove", *NAMES)
    for path in ("/etc/redlane/settings.json", "/var/lib/redlane-hub/hub.db"):
        fresh.run(("test", "-e", path))
    assert fresh.run("test -e /usr/lib/redlane", check=False).returncode == 1
    assert fresh.run("test -e /usr/lib/redlane-hub", check=False).returncode == 1
    assert state(fresh, "redlane.socket", "LoadState") in {"not-found", "masked"}
    assert not fresh.run("pgrep -u redlane -u redlane-hub", check=False).stdout


def test_hub_needs_no_daemon_on_its_machine(
    bare: Machine, debs: tuple[Path, ...]
) -> None:
    (own,) = (each for each in debs if each.name.startswith("redlane-hub_"))
    install(bare, (own,))
    assert hub(bare, "/health").status == 200
    assert bare.run("test -e /usr/bin/redlane", check=False).returncode == 1
