import type { TablePage } from '@/components/data-table/types'
import type { ListRequest } from '@/components/data-table/use-admin-list'
import { narrowing } from '@/lib/narrowing'
import { administratorClient, callFunction } from '@/lib/supabase'

/** One recorded act. */
export interface AuditEntry {
  seq: number
  at: string
  /** "admin:<id>", "member:<id>" or a part of the system. */
  actor: string
  actor_name: string | null
  /** "deposit.approved" */
  action: string
  object_type: string | null
  object_id: string | null
  payload: Record<string, unknown> | null
}

export interface AuditPage extends TablePage<AuditEntry> {
  /** Whose acts may be asked for. */
  administrators: { id: string; name: string }[]
}

export async function listAudit(request: ListRequest): Promise<AuditPage> {
  const { entries, ...rest } = await callFunction<Omit<AuditPage, 'items'> & { entries: AuditEntry[] }>(
    await administratorClient(),
    'admin-audit',
    narrowing({ ...request, sort: '' }),
  )
  return { ...rest, items: entries }
}
