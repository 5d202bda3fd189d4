"""Try what failed once more, alone, when everything else has ended.

What passes then is no proof that something is broken: it is named `unsteady`, which is
a defect of its own, and a few of them are borne. What fails again has failed.
"""

import subprocess
import sys
from collections.abc import Sequence

import pytest

__all__ = ["SecondTry"]

_BORNE = 5
"""How many unsteady tests leave a run green."""
_TRIED = 10
"""How many failures are worth trying again: more of them are no race."""
_SECONDS = 1200.0
_FAILURES = ("failed", "error")

Report = pytest.TestReport | pytest.CollectReport


class SecondTry:
    """Follows a run, in the one process that hears of every test."""

    def __init__(self, config: pytest.Config) -> None:
        """Try again as `config` has tried: with its marks and its examples."""
        self._config = config
        self._unsteady: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Once the workers have ended, and before the run is summed up."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        failures = [x for kind in _FAILURES for x in reporter.stats.get(kind, ())]
        names = _names(failures)
        if exitstatus != pytest.ExitCode.TESTS_FAILED or len(names) > _TRIED:
            return
        for name in names:
            reporter.write_line(f"\ntried once more, alone: {name}")
            if _passes([*self._command(), name]):
                self._unsteady.append(name)
        for kind in _FAILURES:
            self._count_as_unsteady(reporter, kind)
        is_broken = any(reporter.stats.get(kind) for kind in _FAILURES)
        if not is_broken and len(self._unsteady) <= _BORNE:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Show how each failed at first, and name it where one looks."""
        reporter = terminalreporter
        for report in reporter.stats.get("unsteady", ()):
            reporter.write_sep("_", f"unsteady: {report.nodeid}", yellow=True)
            reporter.write_line(report.longreprtext)
        for name in self._unsteady:
            reporter.write_line(f"unsteady: {name}", yellow=True)
        if len(self._unsteady) > _BORNE:
            reporter.write_line(f"more than {_BORNE} tests are unsteady", red=True)

    def _command(self) -> list[str]:
        """Without workers, and without a second try of the second try."""
        option = self._config.option
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short"]
        if profile := self._config.getoption("--hypothesis-profile", None):
            command.append(f"--hypothesis-profile={profile}")
        return [*command, f"-m={option.markexpr}"] if option.markexpr else command

    def _count_as_unsteady(self, reporter: pytest.TerminalReporter, kind: str) -> None:
        """Move what the first try reported of those that passed in the second."""
        reports = reporter.stats.pop(kind, [])
        for report in reports:
            is_unsteady = report.nodeid in self._unsteady
            reporter.stats.setdefault("unsteady" if is_unsteady else kind, []).append(
                report
            )


def _names(failures: Sequence[Report]) -> list[str]:
    """The tests that failed, each once; a file that cannot be read is none."""
    tests = (each.nodeid for each in failures if isinstance(each, pytest.TestReport))
    return list(dict.fromkeys(tests))


def _passes(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, check=False, timeout=_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False
