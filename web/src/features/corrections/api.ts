import { useMutation, useQueryClient } from '@tanstack/react-query'
import { adminKey } from '@/lib/admin-overview'
import { unwrap } from '@/lib/errors'
import { administratorClient, callFunction } from '@/lib/supabase'

/** Lets a proposed correction take effect; every figure of the administrators' side may be another then. */
export function useConfirmCorrection() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (correctionId: string) =>
      callFunction(await administratorClient(), 'admin-confirm-correction', { correctionId }),
    // Also after a refusal: what waited may be confirmed by now, or no longer possible.
    onSettled: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}

/** A proposal is not to be confirmed any more; nothing else changes. */
export function useDiscardCorrection() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (correctionId: string) =>
      unwrap(
        await (await administratorClient()).rpc('discard_correction', { p_correction_id: correctionId }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}
