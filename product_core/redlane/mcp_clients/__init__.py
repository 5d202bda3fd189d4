"""The configurations of MCP clients: servers go through Redlane, and back again."""
