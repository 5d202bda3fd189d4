"""What the model has an agent do: a step by its name."""

import shlex
from collections.abc import Callable, Mapping

from agents.agent import Agent, Place
from agents.scripted_model import Step

__all__ = ["NEW", "Script", "allowed", "refused"]

Script = Callable[[Agent, Place], Mapping[str, Step]]

NEW = "written by the agent\n"

CHANGE = "python3 -c {} {}"
"""A program that does something to a file, whose text names no file."""
APPEND = "import sys; open(sys.argv[1] + 'rc', 'a').write('evil')"
SHOW = "import sys; print(open(sys.argv[1] + 'ws/cred' + 'entials').read())"


def allowed(agent: Agent, place: Place) -> Mapping[str, Step]:
    """What any agent does all day."""
    return {
        "shell": agent.shell("printf '%s-%s\\n' hello from-a-command; ls"),
        "write": agent.write(place.project / "new.txt", NEW),
        "read": agent.read(place.project / "notes.txt"),
    }


def refused(agent: Agent, place: Place) -> Mapping[str, Step]:
    """What none is to do; what is last works, so that what was before did no harm."""
    startup = place.home / ".bashrc"
    change = CHANGE.format(shlex.quote(APPEND), f"{place.home}/.bash")
    show = CHANGE.format(shlex.quote(SHOW), f"{place.home}/.a")
    return {
        "forbidden command": agent.shell("cat ~/.aws/credentials"),
        # Some tools write over nothing that they have not read.
        "look": agent.read(startup),
        "outside": agent.write(startup, "evil\n"),
        "outside by a program": agent.shell(change),
        "hidden": agent.read(place.home / ".aws" / "credentials"),
        "hidden by a program": agent.shell(show),
        "afterwards": agent.shell("printf '%s-%s\\n' still at-work"),
    }
