"""What the client's page shows works, against a daemon that runs."""

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from docs.test_manual import Block, blocks, name
from spec.cases import simple
from spec.redlane_home import Home, wait_for


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    made.policies(
        {"id": "no-rm", **simple("Block", "rm -rf")},
        {"id": "ask", **simple("Flag", "please")},
    )
    made.role("r", "no-rm", "ask")
    made.start("--role", "r")
    yield made
    made.stop()


@pytest.mark.parametrize("block", blocks("python client"), ids=name)
def test_program_of_the_page_runs(block: Block, home: Home) -> None:
    """Something is held meanwhile, so that who follows reviews sees one."""
    question = {"content": "please", "context": "Shell"}
    holding = threading.Thread(
        target=home.control.post, args=("/api/analyze", question)
    )
    holding.start()
    wait_for(lambda: home.control.get("/api/reviews").json["reviews"])
    done = subprocess.run(
        [sys.executable, "-c", block.text],
        env=home.environment({}),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    (held,) = home.control.get("/api/reviews").json["reviews"]
    home.control.post(f"/api/reviews/{held['id']}", {"decision": "block"})
    holding.join(20)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
