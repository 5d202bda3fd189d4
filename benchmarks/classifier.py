"""What a response costs that a classifier scores, and the memory of its process.

    .venv/bin/python benchmarks/classifier.py [MODEL…]

Models are installed or packaged ones (inbound unless told). The text is as much as is
scored of a response: three segments of 7,000 characters of the documentation here. The
floor is the same model in this process, without another one to ask.

A second table is what a role pays that has no classifier, where another one has: its
floor is the same role where nobody has any.
"""

import os
import sys
from functools import partial
from pathlib import Path

from corpus import page, regexes
from measure import duration, percentile, print_table, ratio, timed

from redlane.api import Context, Policy, TextContent
from redlane.engine.evaluate import evaluate
from redlane.model.policy import Action, Role
from redlane.paths import Paths
from redlane.policies.ruleset import RuleSet
from redlane_match_ml.loading import load_model
from redlane_match_ml.manifest import folder_of
from redlane_match_ml.match_type import MlClassifierType
from redlane_match_regex import RegexType

DOCS = Path(__file__).parents[1] / "docs"
CHARACTERS = 21_000
ABOVE = 2.0
"""No score reaches it, so that the whole text is looked at."""
SECONDS = 600.0
PATTERNS, ROUNDS, SLICE = 100, 9, 0.3


def main(names: list[str]) -> int:
    """Print a line for each model."""
    rows = [measured(each) for each in names or ["inbound"]]
    print_table(["model", "a response", "in process", "ratio", "memory"], rows)
    print()
    rows = [unscored(names[0] if names else "inbound")]
    print_table(["a role without", "nobody has any", "another has", "ratio"], rows)
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


def unscored(name: str) -> list[str]:
    """What a role of Blocks takes, and takes where another role has a classifier."""
    patterns = regexes(PATTERNS)
    blocks = [
        Policy(f"p{order}", "Regex", Action.BLOCK, order=order, pattern=pattern)
        for order, pattern in enumerate(patterns)
    ]
    scored = Policy("scored", "MlClassifier", Action.BLOCK, model=name)
    types = {"Regex": RegexType(), "MlClassifier": MlClassifierType()}
    plain = Role("plain", tuple(each.id for each in blocks))
    without = RuleSet(blocks, [plain], types, "").rules("plain")
    roles = [plain, Role("scoring", ("scored",))]
    beside = RuleSet([*blocks, scored], roles, types, "").rules("plain")
    if without is None or beside is None:
        raise LookupError(plain.name)
    content = TextContent(Context.INBOUND, page(CHARACTERS))
    taken: dict[str, list[float]] = {"without": [], "beside": []}
    for _ in range(ROUNDS):
        for way, rules in (("without", without), ("beside", beside)):
            once = timed(partial(evaluate, rules, content), seconds=SLICE)
            taken[way].append(once.p50)
    floor, ours = (percentile(each, 50) for each in taken.values())
    what = f"{PATTERNS} patterns"
    return [what, duration(floor), duration(ours), ratio(ours, floor)]


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
