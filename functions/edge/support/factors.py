"""Removes a member's second factors, through the admin API of any GoTrue-compatible auth service."""

from functions.core.errors import ApiError

UNREACHABLE = ApiError(503, "try_again", "The sign-in service does not answer. Try again.")


class Factors:
    """The stock client with the service key, for this one thing."""

    def __init__(self, auth_url: str, service_key: str) -> None:
        self._url = auth_url
        self._headers = {"authorization": f"Bearer {service_key}", "apikey": service_key}

    async def remove_all(self, user_id: str) -> None:
        """Remove every factor of a user.

        Raises:
            ApiError: 503 when the auth service does not respond.
        """
        # Imported here: the client is large, and this is needed a few times a year.
        from supabase import ASupabaseAuthClient, AuthError

        client = ASupabaseAuthClient(url=self._url, headers=self._headers)
        try:
            factors = await client.admin.mfa.list_factors({"user_id": user_id})
            for factor in factors:
                await client.admin.mfa.delete_factor({"user_id": user_id, "id": factor.id})
        except AuthError as error:
            raise UNREACHABLE from error
        finally:
            await client.close()
