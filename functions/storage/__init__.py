"""A Storage-compatible endpoint: bytes in an object store, rows in PostgreSQL, row-level security decides."""
