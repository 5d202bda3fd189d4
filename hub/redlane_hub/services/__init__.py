"""What the hub does, one module for each family of rules."""
