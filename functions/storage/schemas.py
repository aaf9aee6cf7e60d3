"""Models of bodies and query strings, whose values are coerced as Fastify coerces them.

Numbers as text count, anything simple counts as text, and one value stands for a list of one.
"""

import math
import re
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Body
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, FailFast, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from functions.storage.validation import check_path

NO_TRANSFORM = "must be left out: images are served as they were uploaded"
# The largest limit or offset that the SQL functions take: as good as none.
FARTHEST = 2**31 - 1
MOST_ROWS_V2 = 1000
_SIZE = r"^\d+(\.\d+)?([bB]|[kKmMgGtT][bB])?$"
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
# No disk is as large, and a number of any length is compared with it.
_LARGEST = 2**63


def _not(kind: str) -> PydanticCustomError:
    return PydanticCustomError("kind", "must be {kind}", {"kind": kind})


def _to_text(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        raise _not("string")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _to_integer(value: Any) -> int:
    if isinstance(value, bool | dict | list) or value is None:
        raise _not("integer")
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number != int(number):
        raise _not("integer")
    return int(number)


def _to_flag(value: Any) -> bool:
    if value in ("true", 1):
        return True
    if value in ("false", 0):
        return False
    raise _not("boolean")


def _to_list(value: Any) -> list[Any]:
    if isinstance(value, dict) or value is None:
        raise _not("array")
    return value if isinstance(value, list) else [value]


def _to_list_or_null(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        raise _not("array,null")
    return None if value is None else _to_list(value)


def _to_bytes(value: Any) -> int | None:
    """Return a size in bytes: a number, or text such as `20MB`, `1.5mb`, `2048` (decimal units)."""
    if value is None:
        return None
    if not isinstance(value, str):
        return _to_integer(value)
    match = re.fullmatch(_SIZE, value, re.ASCII)
    if not match:
        raise PydanticCustomError("pattern", 'must match pattern "{pattern}"', {"pattern": _SIZE})
    unit = match[2] or ""
    return int(min(float(value.removesuffix(unit)) * _UNITS[unit.lower() or "b"], _LARGEST))


Text = Annotated[str, BeforeValidator(_to_text)]
Name = Annotated[str, Field(min_length=1), BeforeValidator(_to_text)]


def _no_transform(value: Any) -> None:
    if value is not None:
        raise PydanticCustomError("transform", NO_TRANSFORM)


def _path(value: str) -> str:
    check_path(value)
    return value


def _path_or_empty(value: str) -> str:
    return value and _path(value)


# A name in a body: an unsafe one is rejected before anything else looks at it. In a list of names each has
# its own result; what nothing can be named or begin with finds nothing.
Path = Annotated[Name, AfterValidator(_path)]
PathOrEmpty = Annotated[Text, AfterValidator(_path_or_empty)]
Flag = Annotated[bool, BeforeValidator(_to_flag)]
Natural = Annotated[int, Field(ge=0), BeforeValidator(_to_integer)]
Positive = Annotated[int, Field(ge=1), BeforeValidator(_to_integer)]
Order = Annotated[Literal["asc", "desc"], BeforeValidator(_to_text)]
_Bytes = Annotated[int, Field(ge=0)]
_SizeText = Annotated[str, Field(pattern=_SIZE)]
_Size = BeforeValidator(_to_bytes, json_schema_input_type=_Bytes | _SizeText | None)
ByteSize = Annotated[_Bytes | None, _Size]
# A body that may be left out: an object of which no property counts.
IgnoredObject = Annotated[dict[str, Any] | None, Body()]
MimeTypes = Annotated[list[Text] | None, FailFast(), BeforeValidator(_to_list_or_null)]


class _CamelCase(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class BucketLimits(BaseModel):
    """The limits of a bucket, and whether it can be read without a token."""

    public: Flag = False
    file_size_limit: ByteSize = None
    allowed_mime_types: MimeTypes = None


class NewBucket(BucketLimits):
    """A bucket to be made."""

    name: Text
    id: Text = ""
    type: Text = "STANDARD"

    @property
    def bucket_id(self) -> str:
        """The bucket's id: its name unless another is given."""
        return self.id if "id" in self.model_fields_set else self.name


class BucketChanges(BucketLimits):
    """New limits: null takes one away, what is absent stays."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": [name]} for name in BucketLimits.model_fields]}
    )

    @model_validator(mode="before")
    @classmethod
    def _require_one(cls, value: Any) -> Any:
        names = list(cls.model_fields)
        if isinstance(value, dict) and value.keys().isdisjoint(names):
            raise PydanticCustomError(
                "missing_any", "must have required property '{name}'", {"name": names[0]}
            )
        return value


class BucketQuery(_CamelCase):
    """A page of buckets."""

    limit: Positive = FARTHEST
    offset: Natural = 0
    sort_column: Annotated[Literal["id", "name", "created_at", "updated_at"], BeforeValidator(_to_text)] = (
        "id"
    )
    sort_order: Order = "asc"
    search: Text = ""


class SignedUrl(_CamelCase):
    """A signed URL to be made; `expiresIn` counts seconds."""

    expires_in: Positive
    transform: Annotated[None, BeforeValidator(_no_transform)] = None


class SignedUrls(SignedUrl):
    """Signed URLs to be made, one for each path."""

    paths: Annotated[list[Text], Field(min_length=1, max_length=1000), BeforeValidator(_to_list)]


class ListOrder(BaseModel):
    """The order of a folder's page."""

    column: Annotated[
        Literal["name", "updated_at", "created_at", "last_accessed_at"], BeforeValidator(_to_text)
    ]
    order: Order = "asc"


class ListQuery(_CamelCase):
    """A page of one folder, by offset."""

    prefix: Text
    limit: Positive = 100
    offset: Natural = 0
    sort_by: ListOrder = ListOrder(column="name")
    search: Text = ""


class ListOrderV2(BaseModel):
    """The order of a page by cursor."""

    column: Annotated[Literal["name", "updated_at", "created_at"], BeforeValidator(_to_text)]
    order: Order = "asc"


class ListQueryV2(_CamelCase):
    """A page of everything below a prefix, by cursor."""

    prefix: Text = ""
    limit: Positive = MOST_ROWS_V2
    cursor: Text = ""
    with_delimiter: Flag = Field(alias="with_delimiter", default=False)
    sort_by: ListOrderV2 = ListOrderV2(column="name")


class Removal(BaseModel):
    """The exact names of objects to be removed; a folder's name, with its slash, names none."""

    prefixes: Annotated[list[Text], Field(min_length=1), FailFast(), BeforeValidator(_to_list)]


class Move(_CamelCase):
    """An object, and where it goes."""

    bucket_id: Path
    source_key: Path
    destination_key: Path
    destination_bucket: PathOrEmpty = ""

    @property
    def target_bucket(self) -> str:
        """The destination's bucket: the same one unless another is named."""
        return self.destination_bucket or self.bucket_id


class NewMetadata(_CamelCase):
    """Metadata of a copy in place of its source's."""

    cache_control: Text = ""
    mimetype: Text = ""


class Copy(Move):
    """An object to be copied; with `copyMetadata` false the copy gets `metadata` instead of the source's."""

    copy_metadata: Flag = True
    metadata: NewMetadata = NewMetadata()


class Uploaded(BaseModel):
    """A stored object; a signed upload does not learn its id."""

    key: str = Field(alias="Key")
    id: UUID | None = Field(alias="Id", default=None)


class ErrorBody(BaseModel):
    """Every error of the Storage API."""

    status_code: str = Field(alias="statusCode")
    error: str
    message: str
    code: str
