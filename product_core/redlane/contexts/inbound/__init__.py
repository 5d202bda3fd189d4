"""The Inbound context: what comes back to the agent."""
