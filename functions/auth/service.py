"""The parts that every endpoint works with."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import orjson
from psycopg.types.json import set_json_loads
from starlette.requests import Request

from functions.auth.codes import Hasher
from functions.auth.constant_time import ConstantTime
from functions.auth.keys import Keys
from functions.auth.limits.attempts import Attempts
from functions.auth.limits.buckets import RateLimits
from functions.auth.limits.mail import MailBudget
from functions.auth.limits.passwords import PasswordAttempts
from functions.auth.mailer import Mailer
from functions.auth.notices import Notices
from functions.auth.passwords import Passwords
from functions.auth.principal_reader import PrincipalReader
from functions.auth.redirects import Redirects
from functions.auth.settings import AuthSettings
from functions.core.database import Pool, make_pool

# Every query looks a few rows up by key: planning it anew costs more than running it. No timeouts here: the
# product's triggers on a confirmation wait for locks. Requests have one.
_SESSION = "-c timezone=UTC -c plan_cache_mode=force_generic_plan"


@dataclass(frozen=True)
class Service:
    """The parts of one running process."""

    settings: AuthSettings
    pool: Pool
    principals: PrincipalReader
    keys: Keys
    rate_limits: RateLimits
    attempts: Attempts
    code_attempts: Attempts
    password_attempts: PasswordAttempts
    redirects: Redirects
    mailer: Mailer
    mail_budget: MailBudget
    notices: Notices
    passwords: Passwords
    hasher: Hasher
    constant_time: ConstantTime = field(default_factory=ConstantTime)
    background_tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do work that no request waits for."""
        task = asyncio.create_task(work)
        # The loop itself would drop it.
        self.background_tasks.add(task)
        task.add_done_callback(self.background_tasks.discard)


def make_service(settings: AuthSettings) -> Service:
    """Return the parts, connected with each other; the pool is still closed."""
    set_json_loads(orjson.loads)
    # A statement outside a transaction commits by itself, which saves two round trips.
    pool = make_pool(
        settings.database_url,
        settings.database_pool_size,
        "auth",
        min_size=2,
        max_waiting=0,
        autocommit=True,
        options=_SESSION,
    )
    mailer, mail_budget = Mailer(settings), MailBudget(pool, settings)
    return Service(
        settings=settings,
        pool=pool,
        principals=PrincipalReader(pool),
        keys=Keys(settings.keys, settings.issuer, settings.jwt_exp),
        rate_limits=RateLimits(settings),
        attempts=Attempts(pool, settings.failure_limit, settings.failure_window),
        # The first attempt comes after the mail: what it counts outlives the code.
        code_attempts=Attempts(pool, settings.code_attempts, timedelta(seconds=settings.mailer_otp_exp)),
        password_attempts=PasswordAttempts(
            pool, settings.failure_limit, settings.address_failure_limit, settings.failure_window
        ),
        redirects=Redirects(settings),
        mailer=mailer,
        mail_budget=mail_budget,
        notices=Notices(pool, mail_budget, mailer),
        passwords=Passwords(
            settings.password_min_length, settings.reject_common_passwords, settings.smtp_sender_name
        ),
        hasher=Hasher(settings.jwt_secret),
    )


def service_of(request: Request) -> Service:
    """Return the service that a request is made to."""
    service: Service = request.app.state.service
    return service
