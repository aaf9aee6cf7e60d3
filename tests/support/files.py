"""Makes receipts, and files that only look like one."""

import io
import secrets

from PIL import Image

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HTML = b"<!doctype html><script>alert(1)</script>"
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)


def png(width: int = 24, height: int = 24) -> bytes:
    """Return a small PNG that no other call makes."""
    image = Image.frombytes("RGB", (width, height), secrets.token_bytes(width * height * 3))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def large_png(size: int) -> bytes:
    """Return a valid PNG of at least `size` bytes."""
    side = int((size / 3) ** 0.5) + 8
    return png(side, side)
