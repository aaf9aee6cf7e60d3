"""sync-all-mlm-bonuses: prove that every bonus is what tree and packages say, and repair what is not."""

from fastapi import APIRouter, Response

from functions.edge.support.dependencies import AnyPrincipal

router = APIRouter()


@router.post("/sync-all-mlm-bonuses")
async def sync_all_mlm_bonuses(principal: AnyPrincipal) -> Response:
    """Respond `{success, summary: {totalBonuses, totalProfiles}}`; it has no rate limit."""
    return await principal.call("public.sync_bonuses")
