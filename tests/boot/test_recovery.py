"""A service that dies or hangs is started again, and nothing goes by unjudged."""

import pytest
from boot.machine import Machine
from boot.product import ask, hub, main_pid, start, state, verdict

# Rarely, systemd overlooks that the last process of a service is gone; it waits for
# TimeoutStopSec= then, before it starts the service again.
SECONDS = 90.0
SERVICES = ("redlane.service", "redlane-hub.service")


def running(machine: Machine, service: str) -> int:
    """Have a service running; its main process."""
    if service == "redlane.service":
        return start(machine)
    assert hub(machine, "/health").status == 200
    return main_pid(machine, service)


def restarted(machine: Machine, service: str, before: int) -> None:
    """Wait until a service runs again, in another process."""
    shown = f"systemctl show --value --property=MainPID {service}"
    machine.until(f"! {shown} | grep -qx -e 0 -e {before}", seconds=SECONDS)
    machine.until(f"systemctl is-active --quiet {service}")
    assert int(state(machine, service, "NRestarts")) > 0


@pytest.mark.parametrize("service", SERVICES)
def test_killed_service_is_started_again(machine: Machine, service: str) -> None:
    before = running(machine, service)
    machine.run(("kill", "-KILL", str(before)))
    restarted(machine, service, before)
    assert verdict(machine, "rm -rf /") == "BLOCK"
    assert hub(machine, "/health").status == 200


@pytest.mark.parametrize("service", SERVICES)
def test_hung_service_is_started_again(machine: Machine, service: str) -> None:
    """With a shorter watchdog than the unit's, which would only take longer."""
    running(machine, service)
    machine.write(
        f"/run/systemd/system/{service}.d/soon.conf", "[Service]\nWatchdogSec=2s\n"
    )
    machine.run(f"systemctl daemon-reload && systemctl restart {service}")
    before = running(machine, service)
    machine.run(("kill", "-STOP", str(before)))
    restarted(machine, service, before)
    assert state(machine, service, "Result") in {"success", "watchdog"}
    assert verdict(machine, "rm -rf /") == "BLOCK"
    machine.run(f"rm -r /run/systemd/system/{service}.d && systemctl daemon-reload")
    machine.run(f"systemctl restart {service}")


def test_healthy_service_is_not_started_again(machine: Machine) -> None:
    """The watchdog is fed: three of its periods pass, at a shorter one."""
    drop_in = "/run/systemd/system/redlane.service.d/soon.conf"
    machine.write(drop_in, "[Service]\nWatchdogSec=2s\n")
    machine.run("systemctl daemon-reload && systemctl restart redlane.service")
    before = start(machine)
    fed = "journalctl --sync; systemctl show --value -p WatchdogTimestampMonotonic"
    first = int(machine.run(f"{fed} redlane.service").stdout)
    later = f"[ $({fed} redlane.service) -gt {first + 6_000_000} ]"
    machine.until(later, seconds=30)
    assert main_pid(machine) == before
    assert ask(machine, "/health").status == 200
    machine.run(f"rm {drop_in} && systemctl daemon-reload")
