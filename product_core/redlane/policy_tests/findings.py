"""What `redlane config check` tells of the tests that policies carry."""

from redlane.model.problem import Finding, Severity
from redlane.paths import Paths
from redlane.policies.loaded import Loaded
from redlane.policies.sources import read_sources
from redlane.policy_tests.allows import findings_of_allows
from redlane.policy_tests.cases import cases_of
from redlane.policy_tests.running import run_cases
from redlane.policy_tests.selecting import applicable, quick_cases

__all__ = ["findings_of_tests"]


def findings_of_tests(paths: Paths, loaded: Loaded) -> list[Finding]:
    """An error for each policy that is not what its own tests say.

    A warning for what is no test, for a role that comes to something else (it may be
    meant to), and for an Allow that lets more go on than it seems to. Programs are not
    started, nor models asked, as `redlane test` does.
    """
    cases, wrong = cases_of(read_sources(paths).policies)
    known, _ = applicable(cases, loaded.ruleset)
    known = [each for each in known if each.policy in loaded.ruleset.policies]
    of_allows = findings_of_allows(loaded, quick_cases(known, loaded.ruleset))
    results = run_cases(loaded.ruleset, quick_cases(known, loaded.ruleset))
    failed: dict[tuple[Severity, str, str], str] = {}
    for each in results:
        if not each.passed:
            is_own = each.case.matches is not None
            severity = Severity.ERROR if is_own else Severity.WARNING
            key = severity, each.case.file, each.case.policy
            failed.setdefault(key, f"a test fails, see redlane test: {each.reason}")
    of_tests = [Finding(*where, reason) for where, reason in failed.items()]
    return [*wrong, *of_tests, *of_allows]
