"""The judge between an MCP client and an MCP server over standard input and output."""
