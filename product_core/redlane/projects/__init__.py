"""Projects: what the `.redlane` of a directory says, once a person has trusted it."""
