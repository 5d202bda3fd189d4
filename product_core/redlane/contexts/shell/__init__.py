"""The Shell context: commands before they run."""
