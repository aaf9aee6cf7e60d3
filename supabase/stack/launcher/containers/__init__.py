"""The files and settings that containers need of a stack."""
