"""A believable receipt for a demo deposit: what an exchange's app shows after a withdrawal of USDT."""

import io
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, MARGIN = 480, 640, 36
PAPER, INK, MUTED, LINE, GREEN = 255, 24, 112, 226, 88


@dataclass(frozen=True)
class Transfer:
    """The figures on the receipt; the amount is text with two decimals."""

    amount: str
    address: str
    reference: str
    sent_at: str


def draw(transfer: Transfer) -> bytes:
    """Return the receipt as PNG bytes, in shades of grey: a hundred of them are drawn for one demo."""
    image = Image.new("L", (WIDTH, HEIGHT), PAPER)
    canvas = ImageDraw.Draw(image)
    middle = WIDTH / 2
    canvas.ellipse((middle - 28, 52, middle + 28, 108), fill=GREEN)
    canvas.line((middle - 13, 81, middle - 3, 91, middle + 15, 68), fill=PAPER, width=5)
    _centred(canvas, 126, "Withdrawal completed", 20, MUTED)
    _centred(canvas, 160, f"{transfer.amount} USDT", 38, INK)
    top = 236
    rows = (
        ("Network", "TRON (TRC20)"),
        ("To", transfer.address),
        ("Transaction", transfer.reference),
        ("Network fee", "1.00 USDT"),
        ("Time", transfer.sent_at),
        ("Status", "Confirmed"),
    )
    for label, value in rows:
        top = _row(canvas, top, label, value)
    _centred(canvas, HEIGHT - 44, "Sample receipt of a demo installation", 14, MUTED)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _row(canvas: ImageDraw.ImageDraw, top: int, label: str, value: str) -> int:
    canvas.line((MARGIN, top, WIDTH - MARGIN, top), fill=LINE, width=1)
    canvas.text((MARGIN, top + 14), label, font=_font(16), fill=MUTED)
    lines = [value[start : start + 34] for start in range(0, len(value), 34)]
    for index, line in enumerate(lines):
        left = WIDTH - MARGIN - canvas.textlength(line, font=_font(16))
        canvas.text((left, top + 14 + 21 * index), line, font=_font(16), fill=INK)
    return top + 28 + 21 * len(lines)


def _centred(canvas: ImageDraw.ImageDraw, top: int, text: str, size: int, colour: int) -> None:
    left = (WIDTH - canvas.textlength(text, font=_font(size))) / 2
    canvas.text((left, top), text, font=_font(size), fill=colour)
