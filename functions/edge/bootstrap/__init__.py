"""What an installation needs once: its first people, and the demo's. Nothing here serves requests."""
