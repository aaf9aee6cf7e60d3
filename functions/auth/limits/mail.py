"""Limits of mail: the pause between two to an address, and the budget of all mail in an hour."""

import hashlib
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from starlette.requests import Request

from functions.auth.durations import parse_duration
from functions.auth.limits.attempts import subject_of_email
from functions.auth.limits.buckets import networks_of_client
from functions.auth.settings import AuthSettings
from functions.core.database import Pool, transaction
from functions.core.errors import ApiError

# A client's network and a recipient each have this part of the budget, and again of each essential kind;
# the wide network around an IPv6 client has three times as much.
_SHARE = 0.1
_NETWORK_PARTS = (1, 1 / 3)
# Nothing but these and notifications takes the last three tenths.
_ESSENTIAL = frozenset({"recovery", "reauthentication"})
_FOR_OTHERS = 0.7
# Anybody asks for these, of any address, and there may be nothing to send.
_OPEN = frozenset({"signup", "resend"})
# A recipient is a domain; of these, where millions are, a mailbox.
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
        <= case when c.subject = %(total)s then %(most)s else 1 end + %(rounding)s
"""
# `failures` is 1 once a sign-up was asked for.
_TAKE_DECOY = """
insert into auth.attempts as a (kind, subject, failures, started_at)
values ('mail', %(subject)s, %(is_sign_up)s::integer, now())
on conflict (kind, subject) do update set
    started_at = now(), failures = greatest(a.failures, excluded.failures)
    where a.started_at <= now() - %(least)s or a.failures < excluded.failures
"""


def check_frequency(sent_at: datetime | None, least: timedelta) -> None:
    """Raise ApiError 429 when the last mail of this kind to this user is too recent."""
    if sent_at is None:
        return
    left = (sent_at + least - datetime.now(sent_at.tzinfo)).total_seconds()
    if left > 0:
        message = f"For security purposes, you can only request this after {math.ceil(left)} seconds."
        raise ApiError(429, "over_email_send_rate_limit", message)


async def check_decoy(
    pool: Pool, kind: str, email: str, least: timedelta, *, is_sign_up: bool = False
) -> None:
    """Limit requests for mail that is never sent like those that are: no account is told apart.

    The first sign-up waits for nothing, as of an unknown address.

    Raises:
        ApiError: 429 when the same was asked for less than `least` ago.
    """
    values = {"subject": subject_of_email(f"{kind} {email}"), "is_sign_up": is_sign_up, "least": least}
    async with pool.connection() as connection:
        if (await connection.execute(_TAKE_DECOY, values)).rowcount:
            return
        query = "select started_at from auth.attempts where kind = 'mail' and subject = %(subject)s"
        last = await (await connection.execute(query, values)).fetchone()
    check_frequency(last["started_at"] if last else datetime.now(UTC), least)


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
        self._part = 1 / max(1, self._count * _SHARE)
        self._period = parse_duration(period).total_seconds() if period else 3600.0
        self._total = self._subject("total")

    @asynccontextmanager
    async def reserve(
        self, request: Request, mail: str, *recipients: str | None
    ) -> AsyncIterator[Reservation]:
        """Count one mail to each recipient (None: there is none) while it is decided whether to send it.

        What was not sent goes back into the budget of all. Into a recipient's share it goes back only with an
        error, which says itself that nothing was sent: else who fills the share of a domain would learn which
        addresses have an account. So that this costs no member anything, mails to members draw on no share
        that a request without a mail can use up.

        Raises:
            ApiError: 429 when the budget is used up, or the client's or a recipient's share of it.
        """
        mails, is_essential = len(recipients), mail in _ESSENTIAL
        source = f"{mail} from" if is_essential else "from"
        networks = networks_of_client(request, self._header) if mails else []
        # Both addresses of a change may be of one domain: this counts once, for the client may not know.
        targets = sorted({_target(mail, recipient) for recipient in recipients if recipient})
        reservation = Reservation()
        shares = dict.fromkeys(targets, 1.0)
        for network, part in zip(networks, _NETWORK_PARTS, strict=False):
            shares[f"{source} {network}"] = mails * part
        await self._take(mails, shares, 1 if is_essential else _FOR_OTHERS)
        try:
            yield reservation
        except BaseException:
            if not reservation.is_sent:
                await self._give_back(mails, targets)
            raise
        if not reservation.is_sent:
            await self._give_back(mails, [])

    async def has_left_for_sign_up(self, recipient: str) -> bool:
        """Count a mail that confirms a sign-up, whatever else it is; False when the share is used up.

        Else who signs up many addresses of a domain could mail it as many times a share by recoveries.
        """
        try:
            await self._take(0, {_target("signup", recipient): 1}, 1)
        except ApiError:
            return False
        return True

    async def take_for_notice(self, recipient: str) -> None:
        """Count a notification. Raises ApiError 429 when it must wait."""
        await self._take(1, {f"notice to {_mailbox(recipient)}": 1}, 1)

    async def purge_old(self) -> None:
        """Delete counts that have sunk to nothing."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "delete from auth.mail_counts where counted_at < now() - make_interval(secs => %s)",
                [self._period],
            )

    async def _take(self, mails: int, shares: Mapping[str, float], most: float) -> None:
        """Count all or nothing: so many mails of the budget, and of each share."""
        if not mails and not shares:
            return
        if not self._count:
            raise _used_up()
        used = {self._total: mails / self._count}
        used |= {self._subject(share): self._part * number for share, number in shares.items()}
        values = {
            "subjects": list(used),
            "used": list(used.values()),
            "period": self._period,
            "total": self._total,
            "most": most,
            "rounding": _ROUNDING,
        }
        async with transaction(self._pool) as connection:
            taken = await connection.execute(_TAKE, values)
            if taken.rowcount < len(used):
                raise _used_up()

    async def _give_back(self, mails: int, shares: list[str]) -> None:
        if not mails:
            return
        unused = {self._total: mails / self._count} | {self._subject(share): self._part for share in shares}
        async with self._pool.connection() as connection:
            for subject, level in unused.items():
                await connection.execute(
                    "update auth.mail_counts set level = greatest(0, level - %s) where subject = %s",
                    [level, subject],
                )

    def _subject(self, name: str) -> str:
        # Another budget begins anew.
        return hashlib.sha256(f"{self._count}/{self._period} {name}".encode()).hexdigest()


def _used_up() -> ApiError:
    return ApiError(429, "over_email_send_rate_limit", "email rate limit exceeded")


def _target(mail: str, recipient: str) -> str:
    """Return the share of a recipient.

    Of essential mails it is the account's own: whatever is asked for others, the owner gets them.
    """
    if mail in _ESSENTIAL:
        return f"{mail} to {recipient.lower()}"
    return f"{'open to' if mail in _OPEN else 'to'} {_mailbox(recipient)}"


def _mailbox(recipient: str) -> str:
    """Return what shares a part of the budget: the domain, or at a large provider the mailbox."""
    name, _, domain = recipient.lower().rpartition("@")
    return f"{name.partition('+')[0]}@{domain}" if domain in _LARGEST_PROVIDERS else domain
