"""Who asks: processes, the sessions they are in, and what they may say to prove it."""
