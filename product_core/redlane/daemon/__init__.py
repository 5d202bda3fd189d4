"""The only place that builds objects and wires them together."""
