import { formatExact, zoneName } from '@/lib/dates'
import type { MemberProfile } from '@/lib/member'
import { useProductName } from '@/lib/platform'
import { useNow } from '@/lib/use-now'
import type { HistoryFilters } from './api'
import { utcDay } from './periods'
import { statuses, types } from './use-history-filters'

interface PrintedHeadProps {
  profile: MemberProfile | undefined
  filters?: HistoryFilters
}

function narrowedTo({ type, status, from, to }: HistoryFilters): string {
  return [
    types.find(({ value }) => value === type)?.label,
    statuses.find(({ value }) => value === status)?.label,
    from && `from ${utcDay(from)}`,
    to && `to ${utcDay(to)}`,
    (from || to) && 'UTC days',
  ]
    .filter(Boolean)
    .join(', ')
}

/** On paper only: whose account it is, when it was printed, and what it was narrowed to. */
export function PrintedHead({ profile, filters }: PrintedHeadProps) {
  const now = useNow()
  const product = useProductName()
  const narrowed = filters ? narrowedTo(filters) : ''
  return (
    <p data-print="only" className="text-compact">
      {profile?.display_name ?? profile?.username ?? 'Member'}
      {profile?.username ? ` (${profile.username})` : ''}, {product}. Printed {formatExact(now)}{' '}
      {zoneName(now)}.{narrowed ? ` ${narrowed}.` : ''}
    </p>
  )
}
