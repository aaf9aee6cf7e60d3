"""A multipart form whose file is streamed: only its small fields are collected in memory."""

from collections.abc import AsyncIterator

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from functions.storage.errors import body_too_large, broken_form

# Bytes of everything in the form that is not the file.
LARGEST_FIELDS = 1024 * 1024


class MultipartForm:
    """Reads fields up to the first part with a filename, then that part's bytes.

    Attributes:
        fields: the fields that came before the file.
        file_type: the file's content type without parameters, or None.
    """

    def __init__(self, pieces: AsyncIterator[bytes], boundary: bytes) -> None:
        self.fields: dict[str, str] = {}
        self.file_type: str | None = None
        self._pieces = pieces
        self._headers: dict[str, bytes] = {}
        self._header = (bytearray(), bytearray())
        self._name = ""
        self._value = bytearray()
        self._other_bytes = 0
        self._file: list[bytes] = []
        self._in_file = self._opened = self._closed = False
        self._parser = self._parser_of(boundary)

    def _parser_of(self, boundary: bytes) -> MultipartParser:
        """Return the parser.

        Raises:
            ApiError: when the boundary is longer than the parser accepts.
        """
        try:
            return MultipartParser(
                boundary,
                {
                    "on_part_begin": self._part_begin,
                    "on_header_field": self._header_field,
                    "on_header_value": self._header_value,
                    "on_header_end": self._header_end,
                    "on_headers_finished": self._headers_finished,
                    "on_part_data": self._part_data,
                    "on_part_end": self._part_end,
                },
            )
        except FormParserError as error:
            raise broken_form() from error

    async def find_file(self) -> bool:
        """Read up to the file's first byte; return False when there is no file.

        Raises:
            ApiError: when this is not a form, or its fields are too large.
        """
        async for piece in self._pieces:
            self._feed(piece)
            if self._opened:
                return True
        return False

    async def file(self) -> AsyncIterator[bytes]:
        """Yield the file's bytes, and skip the rest of the form.

        Raises:
            ApiError: when the form ends before the file does.
        """
        while self._file:
            yield self._file.pop(0)
        async for piece in self._pieces:
            self._feed(piece)
            while self._file:
                yield self._file.pop(0)
        if not self._closed:
            raise broken_form()

    def _feed(self, piece: bytes) -> None:
        try:
            self._parser.write(piece)
        except FormParserError as error:
            raise broken_form() from error

    def _part_begin(self) -> None:
        self._headers, self._value = {}, bytearray()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._header[0].extend(data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._header[1].extend(data[start:end])

    def _header_end(self) -> None:
        name, value = self._header
        self._headers[name.decode("latin-1").lower()] = bytes(value)
        self._header = (bytearray(), bytearray())

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get("content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" in options and not self._opened:
            kind = self._headers.get("content-type", b"").decode("latin-1").split(";", 1)[0].strip()
            self.file_type = kind or "text/plain"
            self._in_file = self._opened = True

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._file.append(data[start:end])
            return
        self._count(end - start)
        if not self._opened:
            self._value.extend(data[start:end])

    def _count(self, more: int) -> None:
        self._other_bytes += more
        if self._other_bytes > LARGEST_FIELDS:
            raise body_too_large("The form's fields are too large")

    def _part_end(self) -> None:
        if self._in_file:
            self._in_file, self._closed = False, True
        elif not self._opened:
            self.fields[self._name] = self._value.decode("utf-8", "replace")
