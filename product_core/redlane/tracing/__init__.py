"""What a session does, for people who look on: nothing here judges or holds."""
