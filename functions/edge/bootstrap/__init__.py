"""Commands that an installation needs for its first people, for the demo's, and for who is locked out."""
