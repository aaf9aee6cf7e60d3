"""Signs the address of a receipt, through the storage service."""

from urllib.parse import quote

import httpx

from functions.core.errors import ApiError

# specification S5.7
VALID_SECONDS = 60
NOT_FOUND = ApiError(404, "receipt_not_found", "This receipt is not there any more.")
UNREACHABLE = ApiError(503, "try_again", "Receipts cannot be opened at the moment. Try again.")


class ReceiptSigner:
    """A client of the storage service that knows bucket and name of a receipt, and no more."""

    def __init__(self, storage: httpx.AsyncClient, service_key: str, origin: str) -> None:
        self._storage = storage
        self._headers = {"authorization": f"Bearer {service_key}", "apikey": service_key}
        self._origin = origin

    async def sign(self, bucket: str, name: str) -> str:
        """Return an address that a browser can open for 60 s.

        Raises:
            ApiError: 404 when the object does not exist, 503 when storage does not respond.
        """
        path = f"/object/sign/{quote(bucket, safe='')}/{quote(name)}"
        try:
            response = await self._storage.post(
                path, json={"expiresIn": VALID_SECONDS}, headers=self._headers
            )
        except httpx.HTTPError as error:
            raise UNREACHABLE from error
        if response.status_code >= 500:
            raise UNREACHABLE
        if response.status_code >= 400:
            raise NOT_FOUND
        return f"{self._origin}/storage/v1{response.json()['signedURL']}"
