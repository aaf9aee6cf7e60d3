"""Settings of the storage service."""

from pathlib import Path
from tempfile import gettempdir

from pydantic import Field, field_validator

from functions.core.settings import TokenSettings


class Settings(TokenSettings):
    """Read from the environment.

    Attributes:
        signing_secret: signs signed URLs (HS256); its own, so that such a token opens nothing else.
        storage_url: where the bytes lie: `file:///folder`, or `s3://bucket/prefix` with AWS_* variables.
        spool_path: where uploads arrive when the bytes lie elsewhere than in a local folder.
        file_size_limit: bytes; no bucket may allow more.
        upload_signed_url_expiration_time: seconds that a signed upload URL is valid.
        pre_request_function: `schema.function` called in each transaction of a person's token; it raises
            for who has no access. Skipped while the database does not have it.
        account_check_function: `schema.function(user id)` called when a person's signed URL is used; it
            raises for an account that may not be used any more. Skipped likewise.
        disk_limit_percent: uploads are rejected when the disk is fuller than this.
        orphan_age_seconds: bytes without a row are removed when older than this.
        sweep_interval_seconds: how often the garbage collector looks for them.
    """

    signing_secret: str = Field(min_length=32)
    storage_url: str
    spool_path: Path = Path(gettempdir()) / "storage-uploads"
    file_size_limit: int = 52_428_800
    upload_signed_url_expiration_time: int = 7200
    pre_request_function: str = ""
    account_check_function: str = ""
    disk_limit_percent: int = 90
    orphan_age_seconds: int = 86_400
    sweep_interval_seconds: int = 3600

    @field_validator("pre_request_function", "account_check_function")
    @classmethod
    def _two_names(cls, value: str) -> str:
        if value and value.count(".") != 1:
            raise ValueError("must be schema.function")
        return value
