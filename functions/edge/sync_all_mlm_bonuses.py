"""sync-all-mlm-bonuses: prove that every bonus is what tree and packages say, and repair what is not."""

from fastapi import APIRouter, Response

from functions.edge.door import Person

router = APIRouter()


@router.post("/sync-all-mlm-bonuses")
async def sync_all_mlm_bonuses(caller: Person) -> Response:
    """Answer `{success, summary: {totalBonuses, totalProfiles}}`; never refused for calling often."""
    return await caller.call("public.sync_bonuses")
