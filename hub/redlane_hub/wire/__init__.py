"""What travels: strict JSON in, exact JSON shapes out."""
