"""The pages for people: what is published, and what mails and checkouts lead to."""
