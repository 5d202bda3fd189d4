"""Which tests share a worker when several run side by side."""

import re

from xdist.scheduler import LoadScopeScheduling

__all__ = ["MachineScheduling"]

_BOOTED = re.compile(r"tests/boot/(?P<module>[^:]+)::[^\[]+(?:\[(?P<suite>\w+))?")


class MachineScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Tests that boot share a worker, and so a machine, by module and suite.

    All others go where there is room. The groups of xdist itself (`loadgroup`) are lost
    with pytest 9.2, which keeps what a test is called elsewhere.
    """

    def _split_scope(self, nodeid: str) -> str:
        booted = _BOOTED.match(nodeid)
        return f"{booted['module']} {booted['suite']}" if booted else nodeid
