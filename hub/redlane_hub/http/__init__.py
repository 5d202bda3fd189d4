"""The HTTP interface: operations, routing, errors and pages."""
