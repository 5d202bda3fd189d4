"""JSON Schemas from strangers, tried in a child that cannot do harm."""
