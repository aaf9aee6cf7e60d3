"""What the endpoints share: who asks, the rules for bodies and errors, encryption, the other services."""
