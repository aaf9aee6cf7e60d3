"""The endpoints, by what they do; the mechanisms lie one folder above."""

from functions.storage.routes import (
    buckets,
    copy_move,
    delete,
    downloads,
    listing,
    maintenance,
    signed,
    uploads,
)

# First match wins: names such as `list` and `sign` come before any bucket's name.
ROUTERS = (
    buckets.router,
    signed.router,
    listing.router,
    copy_move.router,
    maintenance.router,
    downloads.info_router,
    downloads.router,
    delete.router,
    uploads.router,
)
