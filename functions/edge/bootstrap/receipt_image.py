"""A believable receipt for a demo deposit: what an exchange's app shows after a withdrawal of USDT."""

import io
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, MARGIN = 720, 980, 56
PAPER, INK, MUTED, LINE, GREEN = "#ffffff", "#14201b", "#66706b", "#e3e7e4", "#12805c"


@dataclass(frozen=True)
class Transfer:
    """What the receipt says; the amount is text with two decimals."""

    amount: str
    address: str
    reference: str
    sent_at: str


def draw(transfer: Transfer) -> bytes:
    """The receipt as PNG bytes."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    canvas = ImageDraw.Draw(image)
    canvas.ellipse((WIDTH / 2 - 44, 88, WIDTH / 2 + 44, 176), fill=GREEN)
    canvas.line((WIDTH / 2 - 20, 133, WIDTH / 2 - 4, 150, WIDTH / 2 + 24, 114), fill=PAPER, width=8)
    _centred(canvas, 206, "Withdrawal completed", 30, MUTED)
    _centred(canvas, 258, f"{transfer.amount} USDT", 60, INK)
    top = 392
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
    _centred(canvas, HEIGHT - 72, "Sample receipt of a demo installation", 22, MUTED)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _row(canvas: ImageDraw.ImageDraw, top: int, label: str, value: str) -> int:
    canvas.line((MARGIN, top, WIDTH - MARGIN, top), fill=LINE, width=2)
    canvas.text((MARGIN, top + 22), label, font=ImageFont.load_default(24), fill=MUTED)
    lines = [value[start : start + 34] for start in range(0, len(value), 34)]
    for index, line in enumerate(lines):
        font = ImageFont.load_default(24)
        left = WIDTH - MARGIN - canvas.textlength(line, font=font)
        canvas.text((left, top + 22 + 32 * index), line, font=font, fill=INK)
    return top + 44 + 32 * len(lines)


def _centred(canvas: ImageDraw.ImageDraw, top: int, text: str, size: int, colour: str) -> None:
    font = ImageFont.load_default(size)
    left = (WIDTH - canvas.textlength(text, font=font)) / 2
    canvas.text((left, top), text, font=font, fill=colour)
