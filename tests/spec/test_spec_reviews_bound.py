"""A decision is about what was shown: what changes meanwhile does not run."""

from pathlib import Path

import pytest
from spec.cases import simple
from spec.redlane_home import REDLANE_SH, Home, wait_for


@pytest.fixture
def running(home: Home) -> Home:
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag")
    home.settings(review={"timeout_seconds": 30})
    home.start("--role", "agent")
    return home


SWAPS = {
    "a script": "sh {0}/odd.sh",
    "what an interpreter reads": "python3 -I {0}/odd.py",
    "a program": "{0}/odd.sh",
    "a file that is read": "cat {0}/odd.txt",
}


@pytest.mark.parametrize("way", SWAPS)
@pytest.mark.parametrize("swapped", [True, False], ids=["swapped", "left"])
def test_what_is_swapped_while_its_command_is_held_does_not_run(
    running: Home, tmp_path: Path, way: str, *, swapped: bool
) -> None:
    command = SWAPS[way].format(tmp_path)
    file = Path(command.split()[-1])
    text = "print('seen')\n" if file.suffix == ".py" else "#!/bin/sh\necho seen\n"
    file.write_text(text)
    file.chmod(0o755)
    shell = running.spawn("-c", command, program=REDLANE_SH)
    (review,) = wait_for(lambda: running.control.rows("/api/reviews"))
    if swapped:
        other = tmp_path / "other"
        other.write_text(text.replace("seen", "told"))
        other.chmod(0o755)
        other.replace(file)

    assert running.run("review", "allow", review["id"]).code == 0

    out, err = shell.communicate(timeout=20)
    assert ("seen" in out) is not swapped
    assert "told" not in out
    assert ("has changed while it was held" in err) is swapped
    assert shell.returncode == (126 if swapped else 0)
