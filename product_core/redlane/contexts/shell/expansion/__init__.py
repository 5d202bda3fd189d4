"""What the words of a command come to: variables, globs and files, where known."""
