"""A home whose agent may run all but what is `forbidden`, and what a refusal is."""

from pathlib import Path

from spec.cases import modify, regex, simple
from spec.redlane_home import Home

__all__ = ["assert_refused", "write_agent"]

REWRITE = {"type": "Regex", "pattern": "low", "replacement": "HIGH"}


def write_agent(home: Home) -> None:
    """Write the policies of the role `agent`."""
    home.policies(
        {"id": "forbid", **simple("Block", "forbidden")},
        {"id": "permit", **regex("Allow", "^: permit;")},
        {"id": "rewrite", **modify("echo low", REWRITE)},
    )
    home.role("agent", "forbid", "permit", "rewrite")


def assert_refused(code: int, out: str, err: str, canary: Path) -> None:
    """Refused: status 126, one line, and nothing has run."""
    assert code == 126, err
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("redlane: ")
    assert not canary.exists()
