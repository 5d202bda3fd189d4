"""`redlane config`: check what is on disk, list the builtins, print the schemas."""

import argparse
import os
import sys
from dataclasses import replace

from redlane.cli import exit_codes
from redlane.cli.output import as_text, paint, print_json, print_note, single_line
from redlane.cli.parser import Commands, add_command, add_group
from redlane.model.problem import Finding, Severity
from redlane.paths import Paths
from redlane.policies.loaded import Loaded

__all__ = ["register"]

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def register(commands: Commands) -> None:
    """Add `redlane config` and what it holds."""
    group = add_group(
        commands,
        "config",
        summary="check policies, roles and settings",
        examples="""
            redlane config check
            redlane config check --json
            redlane config list-builtins
            redlane config schema policies
        """,
    )
    check = add_command(
        group,
        "check",
        _check,
        summary="look for mistakes in policies, roles and settings",
        description="""
            Read every policy and role file and the settings, and print each error and
            warning on a line of its own. Exit code 0 without errors (warnings are
            allowed), 1 with any.
        """,
        examples="""
            redlane config check
            REDLANE_HOME=./rules redlane config check --json
        """,
    )
    check.add_argument("--json", action="store_true", help="print one JSON object")
    builtins = add_command(
        group,
        "list-builtins",
        _list_builtins,
        summary="list the builtin policies, which no role can switch off",
        examples="redlane config list-builtins --json",
    )
    builtins.add_argument("--json", action="store_true", help="print one JSON array")
    schema = add_command(
        group,
        "schema",
        _schema,
        summary="print the JSON Schema of a kind of file, for editors",
        description="""
            Print the JSON Schema (draft 2020-12) of a kind of file, with the fields and
            the settings that the plugins of this machine add to it.
        """,
        examples="redlane config schema policies > ~/.redlane/policies.schema.json",
    )
    schema.add_argument("kind", choices=("policies", "roles", "settings"))


def _check(arguments: argparse.Namespace) -> int:
    from redlane.contexts.network.installed import (  # noqa: PLC0415  # light
        MISSING,
        proxy_command,
    )
    from redlane.plugins import find_plugins  # noqa: PLC0415  # only checking needs them
    from redlane.policies.check import (  # noqa: PLC0415  # as above
        compile_errors,
        idle_blocks,
    )
    from redlane.policies.loading import load  # noqa: PLC0415  # as above
    from redlane.policies.traffic import with_proxy  # noqa: PLC0415  # as above
    from redlane.policy_tests.findings import (  # noqa: PLC0415  # as above
        findings_of_tests,
    )
    from redlane.sharing.verifying import findings_of  # noqa: PLC0415  # as above

    paths = Paths.from_environment(os.environ)
    loaded = load(paths, find_plugins())
    loaded = replace(loaded, findings=(*loaded.findings, *findings_of(paths)))
    loaded = with_proxy(loaded, None if proxy_command() else MISSING)
    of_tests = findings_of_tests(paths, loaded)
    idle = idle_blocks(loaded)
    loaded = replace(loaded, findings=(*loaded.findings, *of_tests, *idle))
    errors = (*loaded.errors, *compile_errors(loaded))
    if arguments.json:
        _print_as_json(loaded, errors)
    else:
        _print_as_text(loaded, errors)
    return exit_codes.FINDING if errors else exit_codes.OK


def _print_as_json(loaded: Loaded, errors: tuple[Finding, ...]) -> None:
    print_json(
        {
            "errors": [_as_object(each) for each in errors],
            "warnings": [_as_object(each) for each in loaded.warnings],
            "policies": len(loaded.ruleset.policies),
            "roles": len(loaded.ruleset.roles),
        }
    )


def _as_object(finding: Finding) -> dict[str, str]:
    return {
        "file": as_text(finding.file),
        "subject": finding.subject,
        "message": as_text(finding.message),
    }


def _print_as_text(loaded: Loaded, errors: tuple[Finding, ...]) -> None:
    for finding in (*errors, *loaded.warnings):
        label = paint(f"{finding.severity}:", _COLOURS[finding.severity], sys.stdout)
        place = [finding.file, finding.subject, finding.message]
        sys.stdout.write(f"{label} {single_line(': '.join(filter(None, place)))}\n")
    counts = [
        _count(len(errors), "error"),
        _count(len(loaded.warnings), "warning"),
        _count(len(loaded.ruleset.policies), "policy", "policies"),
        _count(len(loaded.ruleset.roles), "role"),
    ]
    print_note(", ".join(counts))


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _list_builtins(arguments: argparse.Namespace) -> int:
    from redlane.engine.builtins import BUILTINS  # noqa: PLC0415  # only needed here

    if arguments.json:
        print_json(
            [
                {
                    "id": each.id,
                    "description": each.description,
                    "contexts": [str(context) for context in sorted(each.contexts)],
                }
                for each in BUILTINS
            ]
        )
        return exit_codes.OK
    for each in BUILTINS:
        contexts = ", ".join(sorted(each.contexts))
        sys.stdout.write(f"{each.id} ({contexts}): {each.description}\n")
    return exit_codes.OK


def _schema(arguments: argparse.Namespace) -> int:
    import json  # noqa: PLC0415  # as below

    from redlane.plugins import find_plugins  # noqa: PLC0415  # this and `check` alone
    from redlane.policies.schema import schema_with_plugins  # noqa: PLC0415  # as above

    schema = schema_with_plugins(arguments.kind, find_plugins())
    sys.stdout.write(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
    return exit_codes.OK
