"""The budget of all mail in an hour: who may use how much of it."""

import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.requests import Request

from functions.auth.durations import parse_duration
from functions.auth.settings import AuthSettings
from functions.core.database import Pool, transaction
from functions.core.errors import ApiError
from functions.core.request import network_of

# No address and no recipient's domain takes more than this part of the budget,
_SHARE = 0.1
# and no mail but these and notifications the last three tenths.
_ESSENTIAL = frozenset({"recovery"})
_FOR_OTHERS = 0.7
# Of these, where millions are, each mailbox has the share of a domain.
_LARGEST_PROVIDERS = frozenset(
    """
    gmail.com googlemail.com outlook.com hotmail.com live.com msn.com hotmail.co.uk hotmail.fr hotmail.de
    hotmail.it hotmail.es outlook.de outlook.fr outlook.es live.co.uk live.fr live.nl yahoo.com yahoo.co.uk
    yahoo.co.in yahoo.co.id yahoo.co.jp yahoo.fr yahoo.de yahoo.it yahoo.es yahoo.in yahoo.ca yahoo.com.br
    yahoo.com.ph ymail.com rocketmail.com aol.com icloud.com me.com mac.com proton.me protonmail.com pm.me
    gmx.de gmx.net gmx.com gmx.at gmx.ch web.de t-online.de freenet.de mail.com orange.fr wanadoo.fr free.fr
    sfr.fr laposte.net libero.it virgilio.it tiscali.it uol.com.br bol.com.br terra.com.br mail.ru bk.ru
    inbox.ru list.ru yandex.ru yandex.com rambler.ru qq.com foxmail.com 163.com 126.com yeah.net sina.com
    sohu.com naver.com daum.net hanmail.net kakao.com rediffmail.com comcast.net verizon.net att.net
    sbcglobal.net bellsouth.net cox.net btinternet.com sky.com bigpond.com seznam.cz wp.pl o2.pl onet.pl
    interia.pl abv.bg ukr.net zoho.com hey.com fastmail.com tutanota.com
    """.split()  # noqa: SIM905
)
_ROUNDING = 1e-9

# Each level sinks from 1 to 0 in one period.
_TAKE = """
insert into auth.mail_counts as c (subject, level, counted_at)
select subject, used, now()
from unnest(%(subjects)s::text[], %(used)s::double precision[]) as t (subject, used)
order by subject
on conflict (subject) do update set
    level = greatest(0, c.level - extract(epoch from now() - c.counted_at) / %(period)s) + excluded.level,
    counted_at = now()
    where greatest(0, c.level - extract(epoch from now() - c.counted_at) / %(period)s) + excluded.level
        <= case when c.subject = %(total)s then %(most)s else 1 end
"""


@dataclass
class Reservation:
    """Mail that may be sent; what is not goes back into the budget."""

    is_sent: bool = False


class MailBudget:
    """Counts mail before it is sent, in the database: for all instances, and across restarts."""

    def __init__(self, pool: Pool, settings: AuthSettings) -> None:
        """Read the budget: `30` is per hour, `30/10m` per ten minutes."""
        count, _, period = settings.rate_limit_email_sent.partition("/")
        self._pool, self._header = pool, settings.rate_limit_header
        self._count = float(count)
        self._period = parse_duration(period).total_seconds() if period else 3600.0
        self._total = self._subject("total")

    @asynccontextmanager
    async def reserve(self, request: Request, mail: str, *recipients: str) -> AsyncIterator[Reservation]:
        """Count one mail to each recipient while it is decided whether there is any to send.

        An address without an account is counted like one with: only the budget of all gets back what was not
        sent, the shares do not.

        Raises:
            ApiError: 429 when the budget is used up, or the client's or a recipient's share of it.
        """
        given = request.headers.get(self._header, "") if self._header else ""
        network = _network(given.split(",")[0].strip())
        shares = [f"from {network}"] * len(recipients) if network else []
        shares += [f"to {_mailbox(recipient)}" for recipient in recipients]
        reservation = Reservation()
        await self._take(len(recipients), shares, 1 if mail in _ESSENTIAL else _FOR_OTHERS)
        try:
            yield reservation
        finally:
            if recipients and not reservation.is_sent:
                await self._give_back(len(recipients))

    async def take_for_notice(self, recipient: str) -> None:
        """Count a notification. Raises ApiError 429 when it must wait."""
        await self._take(1, [f"notice to {_mailbox(recipient)}"], 1)

    async def purge_old(self) -> None:
        """Delete counts that have sunk to nothing."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.mail_counts where counted_at < now() - make_interval(secs => %s)",
                [self._period],
            )

    async def _take(self, mails: int, shares: list[str], most: float) -> None:
        """Count all or nothing."""
        if not mails:
            return
        if not self._count:
            raise _used_up()
        used: dict[str, float] = defaultdict(float)
        used[self._total] = mails / self._count
        for share in shares:
            used[self._subject(share)] += 1 / max(1, self._count * _SHARE)
        values = {
            "subjects": list(used),
            "used": list(used.values()),
            "period": self._period,
            "total": self._total,
            "most": most + _ROUNDING,
        }
        async with transaction(self._pool) as connection:
            taken = await connection.execute(_TAKE, values)
            if taken.rowcount < len(used):
                raise _used_up()

    async def _give_back(self, mails: int) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(
                "update auth.mail_counts set level = greatest(0, level - %s) where subject = %s",
                [mails / self._count, self._total],
            )

    def _subject(self, name: str) -> str:
        # Another budget begins anew.
        return hashlib.sha256(f"{self._count}/{self._period} {name}".encode()).hexdigest()


def _used_up() -> ApiError:
    return ApiError(429, "over_email_send_rate_limit", "email rate limit exceeded")


def _network(address: str) -> str:
    try:
        return network_of(address)
    except ValueError:
        return address


def _mailbox(recipient: str) -> str:
    """Return what shares a part of the budget: the domain, or at a large provider the mailbox."""
    name, _, domain = recipient.lower().rpartition("@")
    return f"{name.partition('+')[0]}@{domain}" if domain in _LARGEST_PROVIDERS else domain
