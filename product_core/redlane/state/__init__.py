"""What the daemon remembers: sessions, reviews, events."""
