"""Whether content conforms to the JSON Schema that was pushed with it.

A schema is a stranger's program: its patterns may never end and its references may
want the network. So the check runs in a child process of a child process, with limits.
"""

from redlane_hub.conformance.checker import SchemaChecker

__all__ = ["SchemaChecker"]
