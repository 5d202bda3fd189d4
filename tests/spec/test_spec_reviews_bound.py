"""A decision is about what was shown: what changes meanwhile does not run."""

from pathlib import Path

import pytest
from spec.held import REFUSED, ask
from spec.redlane_home import Home

SWAPS = {
    "a script": "sh {0}/odd.sh",
    "what an interpreter reads": "python3 -I {0}/odd.py",
    "a program": "{0}/odd.sh",
    "a file that is read": "cat {0}/odd.txt",
}


@pytest.mark.parametrize("way", SWAPS)
@pytest.mark.parametrize("swapped", [True, False], ids=["swapped", "left"])
def test_what_is_swapped_while_its_command_is_held_does_not_run(
    holding: Home, tmp_path: Path, way: str, *, swapped: bool
) -> None:
    command = SWAPS[way].format(tmp_path)
    file = Path(command.split()[-1])
    text = "print('seen')\n" if file.suffix == ".py" else "#!/bin/sh\necho seen\n"
    file.write_text(text)
    file.chmod(0o755)
    shell, review = ask(holding, "-c", command)
    if swapped:
        other = tmp_path / "other"
        other.write_text(text.replace("seen", "told"))
        other.chmod(0o755)
        other.replace(file)

    assert holding.run("review", "allow", review).code == 0

    out, err = shell.communicate(timeout=20)
    assert ("seen" in out) is not swapped
    assert "told" not in out
    assert ("has changed while it was held" in err) is swapped
    assert shell.returncode == (REFUSED if swapped else 0)
