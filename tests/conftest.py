"""What holds for every test, however the tests were started."""

import signal
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from interpreter import described, refuse_another
from scheduling import FileScheduling, longest_first
from second_try import SecondTry
from tiers import is_thorough, leave_to_thorough

# A busy machine is no failure: how long things take is measured elsewhere.
for _name, _examples in (("quick", 25), ("thorough", 100)):
    hypothesis.settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `make` says of whole runs."""
    parser.addoption("--second-try", action="store_true", help="try failures again")
    parser.addoption("--stages", type=Path, help="what came before, and its minutes")


def pytest_configure(config: pytest.Config) -> None:
    """Take the signals back that whoever started the tests may have ignored.

    A shell starts what runs in the background with SIGINT and SIGQUIT ignored, nohup
    ignores SIGHUP, and programs that are started inherit it.
    """
    refuse_another()
    if config.getoption("--second-try") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SecondTry(config))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


def pytest_report_header() -> list[str]:
    """Say at the head of a run what it is a run of."""
    return list(described())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read nothing of what is left out as a whole: each worker would take seconds."""
    expression = config.option.markexpr  # `slow or not slow` leaves out nothing
    is_quick = expression.startswith("not slow") and collection_path.is_file()
    return True if is_quick and is_thorough(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell the tiers apart before one is selected, and begin with what takes long."""
    leave_to_thorough(items)
    longest_first(items)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say where the time went before the tests; theirs are told below."""
    if stages := config.getoption("--stages"):
        terminalreporter.write_sep("=", "where the time went")
        terminalreporter.write(stages.read_text(encoding="utf-8"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    """Let workers share out the tests by files."""
    return FileScheduling(config, log)
