"""The endpoints of the business that cannot be SQL: each module is one, named as its URL."""
