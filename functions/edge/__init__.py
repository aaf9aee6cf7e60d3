"""The doors of the business that SQL alone cannot be: one module per function, named as its URL."""
