"""What programs do with their words: which run others, print, or write."""
