"""Changes of accounts that only the auth service may make, by the admin API of any GoTrue-compatible one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from functions.core.errors import ApiError

if TYPE_CHECKING:
    from supabase import ASupabaseAuthClient

UNREACHABLE = ApiError(503, "try_again", "The sign-in service does not answer. Try again.")


class AuthAdmin:
    """The stock client with the service key, for these two things."""

    def __init__(self, auth_url: str, service_key: str) -> None:
        self._url = auth_url
        self._headers = {"authorization": f"Bearer {service_key}", "apikey": service_key}

    async def remove_factors(self, user_id: str) -> None:
        """Remove every factor of a user.

        Raises:
            ApiError: 503 when the auth service does not respond.
        """
        async with self._client() as client:
            factors = await client.admin.mfa.list_factors({"user_id": user_id})
            for factor in factors:
                await client.admin.mfa.delete_factor({"user_id": user_id, "id": factor.id})

    async def delete_user(self, user_id: str) -> None:
        """Delete a user; the database closes the profile with it. One that is not there was deleted before.

        Raises:
            ApiError: 503 when the auth service does not respond.
        """
        from supabase import AuthApiError

        async with self._client() as client:
            try:
                await client.admin.delete_user(user_id)
            except AuthApiError as error:
                if error.status != 404:
                    raise

    @asynccontextmanager
    async def _client(self) -> AsyncIterator["ASupabaseAuthClient"]:
        # Imported here: the client is large, and this is needed a few times a year.
        from supabase import ASupabaseAuthClient, AuthError

        client = ASupabaseAuthClient(url=self._url, headers=self._headers)
        try:
            yield client
        except AuthError as error:
            raise UNREACHABLE from error
        finally:
            await client.close()
