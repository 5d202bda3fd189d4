"""`redlane test`: the tests that policies carry, and what they would not notice."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redlane.cli import exit_codes
from redlane.cli.output import as_text, paint, print_json, print_note
from redlane.cli.parser import Commands, add_command
from redlane.cli.progress import progress
from redlane.errors import UsageError
from redlane.model.problem import Finding
from redlane.model.visible import on_one_line
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load
from redlane.policies.ruleset import RuleSet
from redlane.policies.sources import read_sources
from redlane.policy_tests.cases import Case, cases_of
from redlane.policy_tests.mutants import Mutant, mutants_of, survivors
from redlane.policy_tests.running import Result, covered, run_cases
from redlane.policy_tests.selecting import applicable

__all__ = ["register", "result_line"]

_LONGEST = 80
"""So much is shown of a content, in characters."""


@dataclass(frozen=True, slots=True)
class _Report:
    """What was found; None: it was not asked for."""

    results: Sequence[Result]
    wrong: Sequence[Finding]
    uncovered: Sequence[str] | None
    mutants: Sequence[tuple[Mutant, bool]] | None

    @property
    def failed(self) -> list[Result]:
        return [each for each in self.results if not each.passed]

    @property
    def alive(self) -> list[Mutant]:
        return [mutant for mutant, survived in self.mutants or () if survived]


def register(commands: Commands) -> None:
    """Add `redlane test`."""
    parser = add_command(
        commands,
        "test",
        _test,
        summary="run the tests that policies carry",
        description="""
            Run what stands in the field `tests` of the policies: contents that each
            must match and must not, and what roles must say. Exit code 1 when one
            fails. Checkers are run, and models asked.
        """,
        examples="""
            redlane test
            redlane test no-force-push --mutate
            redlane test --coverage --json
        """,
    )
    parser.add_argument(
        "policies", metavar="POLICY", nargs="*", help="only the tests of these"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="name the policies that no test reaches"
    )
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="make each policy looser in turn, and name what no test notices",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _test(arguments: argparse.Namespace) -> int:
    paths = Paths.from_environment(os.environ)
    loaded = load(paths, find_plugins())
    cases, wrong = cases_of(read_sources(paths).policies)
    cases, elsewhere = applicable(cases, loaded.ruleset)
    wanted = _wanted(arguments.policies, loaded.ruleset, cases)
    own = [each for each in cases if each.policy in wanted]
    results = run_cases(loaded.ruleset, cases if arguments.coverage else own)
    reached = covered(results)
    report = _Report(
        [each for each in results if each.case.policy in wanted],
        [each for each in wrong if each.subject in wanted or not arguments.policies],
        [each for each in wanted if each not in reached]
        if arguments.coverage
        else None,
        _mutated(loaded.ruleset, cases, wanted) if arguments.mutate else None,
    )
    if arguments.json:
        print_json({**_document(report), "left_out": elsewhere})
    else:
        sys.stdout.writelines(f"{line}\n" for line in _lines(report))
        print_note(_counts(report))
        if elsewhere:
            print_note(f"left out: {elsewhere} of roles that do not have the policy")
    if loaded.errors:
        print_note("not all that is here loads: redlane config check")
    if report.failed or report.wrong:
        return exit_codes.FINDING
    return exit_codes.USAGE if loaded.errors else exit_codes.OK


def _wanted(
    named: Sequence[str], ruleset: RuleSet, cases: Sequence[Case]
) -> dict[str, None]:
    """The policies that it is about; raises UsageError for one that is not here."""
    known = dict.fromkeys((*ruleset.policies, *(each.policy for each in cases)))
    for each in named:
        if each not in known:
            raise UsageError(f"there is no policy {each!r}")
    return dict.fromkeys(named) if named else known


def _mutated(
    ruleset: RuleSet, cases: Sequence[Case], wanted: dict[str, None]
) -> list[tuple[Mutant, bool]]:
    mutants = [each for each in mutants_of(ruleset) if each.policy in wanted]
    found = []
    with progress("mutants") as tell:
        for number, each in enumerate(survivors(ruleset, cases, mutants), 1):
            tell(number, len(mutants))
            if each is not None:
                found.append(each)
    return found


def _lines(report: _Report) -> Iterator[str]:
    failed = paint("failed:", "red", sys.stdout)
    for finding in report.wrong:
        place = f"{finding.file}: {finding.subject}: {finding.message}"
        yield f"{failed} {on_one_line(place)}"
    yield from (f"{failed} {result_line(each)}" for each in report.failed)
    for name in report.uncovered or ():
        yield f"no test reaches {on_one_line(name)}"
    for each in report.alive:
        yield on_one_line(f"no test notices {each.policy} {_how(each)}")


def _how(mutant: Mutant) -> str:
    return mutant.what if mutant.what.startswith("without") else f"with {mutant.what}"


def result_line(result: Result) -> str:
    """What failed, for people, on one line."""
    case = result.case
    text = case.content.decode(errors="replace")
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    wanted = f"{case.role} must say {case.verdict}"
    if case.matches is not None:
        wanted = "it must match" if case.matches else "it must not match"
    return on_one_line(
        f"{case.file}: {case.policy}: {wanted} ({case.context}): {shown}: "
        f"{result.reason}"
    )


def _counts(report: _Report) -> str:
    total, failed = len(report.results), len(report.failed) + len(report.wrong)
    said = [f"{total} test{'' if total == 1 else 's'}, {failed} failed"]
    if report.uncovered is not None:
        said.append(f"{len(report.uncovered)} policies that no test reaches")
    if report.mutants is not None:
        noticed = len(report.mutants) - len(report.alive)
        said.append(f"{noticed} of {len(report.mutants)} mutants noticed")
    return ", ".join(said)


def _document(report: _Report) -> dict[str, object]:
    found: dict[str, object] = {
        "tests": len(report.results),
        "failed": [_as_object(each) for each in report.failed],
        "malformed": [
            {"file": as_text(e.file), "policy": e.subject, "problem": e.message}
            for e in report.wrong
        ],
    }
    if report.uncovered is not None:
        found["uncovered"] = list(report.uncovered)
    if report.mutants is not None:
        found["mutants"] = len(report.mutants)
        found["unnoticed"] = [
            {"policy": each.policy, "role": each.role, "mutation": each.what}
            for each in report.alive
        ]
    return found


def _as_object(result: Result) -> dict[str, object]:
    case = result.case
    return {
        "file": as_text(case.file),
        "policy": case.policy,
        "context": case.context.value,
        "content": case.content.decode(errors="replace"),
        "match": case.matches,
        "role": case.role,
        "verdict": case.verdict.value if case.verdict else None,
        "reason": result.reason,
    }
