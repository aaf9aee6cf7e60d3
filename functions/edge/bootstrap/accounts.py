"""Members' accounts, made through the admin API of any GoTrue-compatible auth service."""

from typing import Any

from supabase import AuthApiError, SupabaseAuthClient

from functions.edge.bootstrap.settings import BootstrapSettings


class Accounts:
    """The stock client with the service key, as far as these commands need it."""

    def __init__(self, settings: BootstrapSettings) -> None:
        self._admin = SupabaseAuthClient(url=settings.auth_internal_url, headers=settings.headers).admin

    def put(self, email: str, password: str, metadata: dict[str, Any], user_id: str | None = None) -> str:
        """Make a confirmed account, or give an existing one this password; return the user's id."""
        attributes = {
            "email": email,
            "password": password,
            "email_confirm": True,
            "user_metadata": metadata,
            **({"id": user_id} if user_id else {}),
        }
        try:
            return str(self._admin.create_user(attributes).user.id)  # type: ignore[arg-type]
        except AuthApiError as error:
            if error.code != "email_exists" or user_id is None:
                raise
        self._admin.update_user_by_id(user_id, {"password": password})
        return user_id

    def remove(self, user_id: str) -> None:
        """Delete an account that was just made."""
        self._admin.delete_user(user_id)
