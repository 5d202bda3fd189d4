"""`redlane review notify`: what is held, as notifications of a desktop with answers."""
