"""Whether there is a proxy, and how it is started."""

import subprocess
import sys

import pytest

from redlane.contexts.network import installed


def test_the_proxy_runs_beside_us_where_its_library_is() -> None:
    pytest.importorskip("mitmproxy")
    assert installed.proxy_command() == [sys.executable, "-I", "-m", "redlane.proxy"]
    assert installed.authority_command() == [
        *(sys.executable, "-I", "-m"),
        "redlane.proxy.authority",
    ]


def test_looking_imports_nothing_of_it() -> None:
    program = (
        "import sys; from redlane.contexts.network import installed; "
        "installed.proxy_command(); print('mitmproxy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


def test_what_is_missing_names_the_package() -> None:
    assert installed.MISSING.endswith(" redlane-proxy")
