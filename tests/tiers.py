"""What the quick tests leave to the thorough ones.

Quick is what proves each rule of the specifications once, and each context, the hub and
the packages' files by one real smoke; all else is marked `slow`: attacks, fuzzing,
terminals, crashes, whole machines, and the same rule again with everything that might
stand in its way. Single tests carry the mark themselves where their file is quick.
Statistics are marked `soak`: the same again so often that what is rare would show.
"""

from fnmatch import fnmatch
from pathlib import Path

import hypothesis
import pytest

__all__ = ["examples", "is_thorough", "leave_to_thorough"]

TESTS = Path(__file__).parent

THOROUGH = (
    "agents/*",
    "attack/*",
    "core/hubclient/test_hub_asked.py",
    "core/hubclient/test_hub_crashes.py",
    "core/hubclient/test_hub_credentials.py",
    "core/hubclient/test_hub_holes.py",
    "core/hubclient/test_hub_meanwhile.py",
    "core/hubclient/test_hub_nonsense.py",
    "core/hubclient/test_hub_own_files.py",
    "core/hubclient/test_hub_shown.py",
    "core/hubclient/test_hub_tokens.py",
    "core/test_decoding_hostile.py",
    "core/test_proxy_authority.py",
    "core/test_restrictions_many.py",
    "core/test_tcp_clients.py",
    "docs/*",
    "fuzz/*",
    "hub/*",
    "packaging/test_example_plugin.py",
    "packaging/test_plugin_manual.py",
    "packaging/test_private_environment.py",
    "plugins/test_models_shared.py",
    "plugins/test_syscall_*",
    "plugins/test_third_party.py",
    "spec/test_spec_hub_operator.py",
    "spec/test_spec_hub_process.py",
    "spec/test_spec_hub_workers.py",
    "spec/test_spec_jury_http.py",
    "spec/test_spec_network_own_endpoints.py",
    "spec/test_spec_review_answer_sessions.py",
    "system/*",
)
"""Files, below this directory."""

SMOKES = (
    "system/mcp/test_mcp_stdio.py",
    "system/test_journal.py",
    "system/test_makefile.py",
    "system/test_peers.py",
    "system/test_try.py",
    "system/test_units.py",
    "system/wrapper/test_wrapper_answers.py",
)
"""Files among those that are quick all the same."""


def examples(most: int) -> int:
    """How many examples to try of something that `most` are worth trying of."""
    thorough = hypothesis.settings.get_current_profile_name() == "thorough"
    return most if thorough else max(10, most // 10)


def leave_to_thorough(items: list[pytest.Item]) -> None:
    """Mark what the quick tests leave out, while there is time to select by it."""
    for item in items:
        if is_thorough(item.path) or item.get_closest_marker("soak"):
            item.add_marker("slow")


def is_thorough(path: Path) -> bool:
    """Whether all of a file, which is one of the tests, is left out."""
    place = path.relative_to(TESTS).as_posix()
    return _is_among(place, THOROUGH) and not _is_among(place, SMOKES)


def _is_among(place: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(place, each) for each in patterns)
