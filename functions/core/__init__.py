"""What several services need, once: application factory, settings, database, tokens, errors, e-mail, logs."""
