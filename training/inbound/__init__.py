"""How the models of our own are made that score what comes back to an agent."""
