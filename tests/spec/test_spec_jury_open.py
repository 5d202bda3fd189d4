"""Whoever has allowed a script: what it works out when it runs is judged as well."""

import json

import pytest
from spec.cases import simple
from spec.redlane_home import Home, wait_for

AGENT = "import subprocess; subprocess.run(['sh', 'script'])"
SCRIPT = "p=$(./what)\necho odd\n$p made\n"
WHAT = """#!/usr/bin/python3
print("tou" + "ch")
"""
ALLOWS = "echo " + json.dumps(json.dumps({"vote": "allow", "reason": "fine"}))
JURY = [{"name": "all", "type": "command", "command": ALLOWS}]


@pytest.mark.parametrize("who", ["jury", "person"])
def test_what_an_allowed_script_works_out_is_judged(home: Home, who: str) -> None:
    home.policies(
        {"id": "flag", **simple("Flag", "odd")},
        {"id": "no", **simple("Block", "touch")},
    )
    home.role("agent", "flag", "no")
    home.settings(review={"order": "jury", "jury": JURY} if who == "jury" else {})
    (home.user / "script").write_text(SCRIPT)
    (home.user / "what").write_text(WHAT)
    (home.user / "what").chmod(0o755)
    home.start("--role", "agent")
    agent = home.spawn("run", "--", "python3", "-c", AGENT)
    if who == "person":
        (review,) = wait_for(lambda: home.control.rows("/api/reviews"))
        assert home.run("review", "allow", review["id"]).code == 0

    out, err = agent.communicate(timeout=20)

    assert out == "odd\n"
    assert "policy 'no' blocks this" in err
    assert not (home.user / "made").exists()
