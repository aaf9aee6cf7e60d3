"""What containers need of a stack."""
