"""What a response costs that a classifier scores, and the memory of its process.

    .venv/bin/python benchmarks/classifier.py [MODEL…]

Models are installed or packaged ones (inbound unless told). The text is as much as is
scored of a response: three segments of 7,000 characters of the documentation here. The
floor is the same model in this process, without another one to ask.
"""

import os
import sys
from pathlib import Path

from measure import duration, print_table, ratio, timed

from redlane.api import Context, Policy, TextContent
from redlane.model.policy import Action
from redlane.paths import Paths
from redlane_match_ml.loading import load_model
from redlane_match_ml.manifest import folder_of
from redlane_match_ml.match_type import MlClassifierType

DOCS = Path(__file__).parents[1] / "docs"
CHARACTERS = 21_000
ABOVE = 2.0
"""No score reaches it, so that the whole text is looked at."""
SECONDS = 600.0


def main(names: list[str]) -> int:
    """Print a line for each model."""
    rows = [measured(each) for each in names or ["inbound"]]
    print_table(["model", "a response", "in process", "ratio", "memory"], rows)
    return 0


def measured(name: str) -> list[str]:
    """The figures of a model."""
    text = "\n".join(each.read_text() for each in sorted(DOCS.glob("*.md")))[
        :CHARACTERS
    ]
    data = text.encode()
    content = TextContent(Context.SHELL, data)
    policy = Policy("p", "MlClassifier", Action.BLOCK, model=name, flag_threshold=ABOVE)
    values = {each.name: each.default for each in MlClassifierType.settings}
    models = Paths.from_environment(os.environ).models
    prepared = MlClassifierType().prepare({**values, "models": str(models)})
    matcher = prepared.compile([policy])
    asked = timed(lambda: list(matcher.answers(content, (data,), 9)), seconds=3)
    memory = max(map(resident, children()))
    prepared.close()

    model = load_model(folder_of(models, name), 1)
    floor = timed(lambda: model.score(text, ABOVE, lambda: SECONDS), seconds=3)
    return [
        name,
        duration(asked.p50),
        duration(floor.p50),
        ratio(asked.p50, floor.p50),
        f"{memory / 1024:.0f} MB",
    ]


def children() -> list[int]:
    """The processes that this one has started."""
    tasks = Path("/proc/self/task").iterdir()
    return [
        int(pid) for each in tasks for pid in (each / "children").read_text().split()
    ]


def resident(pid: int) -> int:
    """The most kilobytes of memory that a process had."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (each for each in status.splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
