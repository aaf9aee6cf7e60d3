"""What several services need and nothing else: settings, database, tokens, errors, logging."""
