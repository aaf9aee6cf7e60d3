"""Signs a receipt for a minute, over the storage service's own wire."""

from urllib.parse import quote

import httpx

from functions.core.errors import Refusal

VALID_SECONDS = 60
MISSING = Refusal(404, "receipt_not_found", "This receipt is not there any more.")
UNREACHABLE = Refusal(503, "try_again", "Receipts cannot be opened at the moment. Try again.")


class ReceiptSigner:
    """Knows the storage wire and nothing of receipts but their bucket and name."""

    def __init__(self, storage: httpx.AsyncClient, service_key: str, origin: str) -> None:
        self._storage = storage
        self._headers = {"authorization": f"Bearer {service_key}", "apikey": service_key}
        self._origin = origin

    async def sign(self, bucket: str, name: str) -> str:
        """An address that a browser can open for 60 s.

        Raises:
            Refusal: 404 when the object is gone, 503 when storage does not answer.
        """
        path = f"/object/sign/{quote(bucket, safe='')}/{quote(name)}"
        try:
            answer = await self._storage.post(path, json={"expiresIn": VALID_SECONDS}, headers=self._headers)
        except httpx.HTTPError as error:
            raise UNREACHABLE from error
        if answer.status_code >= 500:
            raise UNREACHABLE
        if answer.status_code >= 400:
            raise MISSING
        return f"{self._origin}/storage/v1{answer.json()['signedURL']}"
