"""Commands that an installation needs once: for its first people, and for the demo's."""
