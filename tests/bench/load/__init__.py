"""Mixed load through the gateway: who asks, for what, when, and what it does to the services."""
