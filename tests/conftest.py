"""What holds for every test, however the tests were started."""

import signal
from typing import Any

import hypothesis
import pytest
from scheduling import MachineScheduling

# A busy machine is no failure: how long things take is measured elsewhere.
hypothesis.settings.register_profile(
    "busy machine",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("busy machine")


def pytest_configure(config: pytest.Config) -> None:  # noqa: ARG001  # pytest's name
    """Take the signals back that whoever started the tests may have ignored.

    A shell starts what runs in the background with SIGINT and SIGQUIT ignored, nohup
    ignores SIGHUP, and programs that are started inherit it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> MachineScheduling:
    """Let workers share out the tests by the machines that they boot."""
    return MachineScheduling(config, log)
