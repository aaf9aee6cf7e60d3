"""The stack's PostgreSQL: its cluster, its schema, another server in its place."""
