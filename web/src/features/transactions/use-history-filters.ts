import { put, useAddress } from '@/lib/use-address'
import type { HistoryFilters } from './api'

export const types = [
  { value: 'deposit', label: 'Deposits' },
  { value: 'withdrawal', label: 'Withdrawals' },
  { value: 'bonus', label: 'All bonuses' },
  { value: 'referral bonus', label: 'Referral bonus' },
  { value: 'pairing bonus', label: 'Pairing bonus' },
  { value: 'override bonus', label: 'Override bonus' },
  { value: 'correction', label: 'Corrections' },
]

export const statuses = [
  { value: 'pending', label: 'Pending' },
  { value: 'approved', label: 'Approved' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
]

const day = /^\d{4}-\d{2}-\d{2}$/
const month = /^\d{4}-(0[1-9]|1[0-2])$/

function oneOf(options: { value: string }[], given: string | null): string {
  return options.find(({ value }) => value === given)?.value ?? ''
}

/** The filters, the open row and how to change them; all of it stands in the address. */
export function useHistoryFilters() {
  const [parameters, setParameters] = useAddress()
  const from = parameters.get('from') ?? ''
  const to = parameters.get('to') ?? ''
  const filters: HistoryFilters = {
    type: oneOf(types, parameters.get('type')),
    status: oneOf(statuses, parameters.get('status')),
    from: day.test(from) ? from : '',
    to: day.test(to) ? to : '',
  }

  function set(key: keyof HistoryFilters | 'item' | 'statement', value: string) {
    setParameters((present) => put(present, key, value || null))
  }

  function setPeriod(period: { from: string; to: string }) {
    setParameters((present) => put(put(present, 'from', period.from || null), 'to', period.to || null))
  }

  return {
    filters,
    filtered: Object.values(filters).some((value) => value !== ''),
    item: parameters.get('item'),
    /** The month whose statement is open, such as "2026-03". */
    statement: month.exec(parameters.get('statement') ?? '')?.[0] ?? null,
    set,
    setPeriod,
    clear: () => setParameters(() => new URLSearchParams()),
  }
}
