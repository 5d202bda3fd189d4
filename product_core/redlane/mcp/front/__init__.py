"""`redlane mcp --url`: an MCP server that speaks HTTP, with every message judged."""
