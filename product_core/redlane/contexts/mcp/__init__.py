"""The Mcp context: tool calls before they reach the server."""
