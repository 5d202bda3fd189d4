"""What a test knows of an agent: how it is installed, run, and made to do something."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.scripted_model import LAST, Step

__all__ = ["PROMPT", "Agent", "Place"]

PROMPT = "Do what has to be done."


@dataclass(frozen=True)
class Place:
    """Where an agent runs: its programs, the home of who runs it, and the project."""

    programs: Path
    home: Path
    project: Path
    url: str


@dataclass(frozen=True)
class Agent:
    """An agent, and how the model has it do what the tests want."""

    name: str
    kind: str
    """What installs it: `npm`, or `pip`."""
    packages: tuple[str, ...]
    """What is installed, with versions; agents of one kind and tuple share it."""
    command: Callable[[Place], Sequence[str]]
    """The words that run it, without a person, on `PROMPT`."""
    environment: Callable[[Place], Mapping[str, str]]
    """What it is told beside HOME and PATH."""
    configure: Callable[[Place], None]
    """Write its settings, below the home."""
    shell: Callable[[str], Step]
    """Run a command."""
    write: Callable[[Path, str], Step]
    """Write a file, by a tool of its own where it has one."""
    read: Callable[[Path], Step]
    """Read a file, by a tool of its own where it has one."""
    refused: str = "ermission|EPERM|EACCES|not permitted|denied"
    """How the model is told that a file was kept from it: a regular expression."""
    does_without: str = "^$"
    """What of its own is refused, as the manual says: a regular expression."""
    is_boxed: bool = False
    """Whether a sandbox of its own keeps its commands from writing elsewhere."""
    is_terse: bool = True
    """Whether it prints nothing but what the model says last."""
    wants_account: bool = False
    """Whether it runs only for a user whom the machine knows by a name."""
    last: Step = LAST
    """What the model says when all is done, so that the agent ends."""
    at_most: int = 100
    """As many steps it takes in one run."""
