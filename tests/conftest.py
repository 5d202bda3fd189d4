"""What holds for every test, however the tests were started."""

import signal
from typing import Any

import hypothesis
import pytest
from interpreter import described, refuse_another
from scheduling import FileScheduling, longest_first

# A busy machine is no failure: how long things take is measured elsewhere.
for _name, _examples in (("quick", 25), ("thorough", 100)):
    hypothesis.settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:  # noqa: ARG001  # pytest's name
    """Take the signals back that whoever started the tests may have ignored.

    A shell starts what runs in the background with SIGINT and SIGQUIT ignored, nohup
    ignores SIGHUP, and programs that are started inherit it.
    """
    refuse_another()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


def pytest_report_header() -> list[str]:
    """Say at the head of a run what it is a run of."""
    return list(described())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long."""
    longest_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    """Let workers share out the tests by files."""
    return FileScheduling(config, log)
