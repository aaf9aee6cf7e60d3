"""The application: every door under its URL name, and one shape for whatever goes wrong."""

import logging

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from psycopg_pool import PoolTimeout
from starlette.exceptions import HTTPException

from functions.core.errors import Refusal, refusal_of
from functions.core.logging import RequestLog
from functions.edge import (
    admin_accounts,
    admin_approve_deposit,
    admin_approve_withdrawal,
    admin_audit,
    admin_auth,
    admin_confirm_correction,
    admin_export,
    admin_get_receipt,
    admin_get_transactions,
    admin_jobs,
    admin_list_deposits,
    admin_list_withdrawals,
    admin_propose_correction,
    admin_remove_factors,
    admin_reveal_mt5_password,
    admin_settings,
    admin_update_member,
    admin_update_subscription,
    bot_subscription,
    documents,
    sync_all_mlm_bonuses,
)
from functions.edge.door import Shared
from functions.edge.limits import BROKEN_JSON, Deadline, Limits
from functions.edge.services import running

DOORS = (
    admin_accounts,
    admin_approve_deposit,
    admin_approve_withdrawal,
    admin_audit,
    admin_auth,
    admin_confirm_correction,
    admin_export,
    admin_get_receipt,
    admin_get_transactions,
    admin_jobs,
    admin_list_deposits,
    admin_list_withdrawals,
    admin_propose_correction,
    admin_remove_factors,
    admin_reveal_mt5_password,
    admin_settings,
    admin_update_member,
    admin_update_subscription,
    bot_subscription,
    sync_all_mlm_bonuses,
)

BUSY = Refusal(503, "try_again", "The server is busy. Try again.")
BAD_TEXT = Refusal(400, "invalid_input", "A text holds a character that cannot be stored.")
FAULT = Refusal(500, "unexpected", "Something went wrong on our side. Try again.")

app = FastAPI(
    title="Functions",
    lifespan=running,
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
    responses=documents.REFUSED,
)
for door in DOORS:
    app.include_router(door.router)
app.add_middleware(Limits)
app.add_middleware(Deadline)
app.add_middleware(RequestLog)


@app.get("/health")
async def health(services: Shared) -> dict[str, str]:
    """Healthy means that a transaction can be opened."""
    async with services.pool.connection(timeout=2) as connection:
        await connection.execute("select 1")
    return {"status": "ok"}


@app.exception_handler(Refusal)
async def refuse(_: Request, refusal: Refusal) -> JSONResponse:
    """A refusal, exactly as it was raised."""
    return JSONResponse(refusal.body(), refusal.status)


@app.exception_handler(psycopg.Error)
async def refuse_from_database(request: Request, error: psycopg.Error) -> JSONResponse:
    """What the database refused, or could not do."""
    refusal = refusal_of(error)
    if refusal is None and isinstance(error, PoolTimeout | psycopg.OperationalError):
        refusal = BUSY
    if refusal is None and isinstance(error, psycopg.DataError) and error.sqlstate is None:
        # Refused before it was sent, as NUL is.
        refusal = BAD_TEXT
    if refusal is None:
        return await fail(request, error)
    return await refuse(request, refusal)


@app.exception_handler(RequestValidationError)
async def refuse_input(request: Request, error: RequestValidationError) -> JSONResponse:
    """A body of the wrong shape: the first thing that is wrong with it."""
    return await refuse(request, Refusal(400, "invalid_input", _sentence(error.errors()[0])))


@app.exception_handler(HTTPException)
async def refuse_route(request: Request, error: HTTPException) -> JSONResponse:
    """No such function, not by this method, or JSON too deep to be read."""
    if error.status_code == 400:
        return await refuse(request, BROKEN_JSON)
    code = "not_found" if error.status_code == 404 else "method_not_allowed"
    text = "There is no such function." if error.status_code == 404 else "Call functions with POST."
    return await refuse(request, Refusal(error.status_code, code, text))


@app.exception_handler(Exception)
async def fail(request: Request, error: Exception) -> JSONResponse:
    """A fault of ours: everything to the log, nothing of it to the caller."""
    logging.getLogger("edge").error("unexpected", exc_info=error)
    return await refuse(request, FAULT)


def _sentence(problem: dict[str, object]) -> str:
    place = problem["loc"]
    names = (
        [part for part in place if isinstance(part, str) and part != "body"]
        if isinstance(place, tuple)
        else []
    )
    if not names:
        return "Send a JSON object."
    if problem["type"] == "missing":
        return f"{names[-1]} is required."
    if str(problem["type"]).startswith("uuid"):
        return f"{names[-1]} is not a valid id."
    return f"{names[-1]}: {problem['msg']}."
