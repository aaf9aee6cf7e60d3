import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { adminKey } from '@/lib/admin-overview'
import type { DecisionAction, MoneyRequest } from './request'

interface Open<Row> {
  row: Row
  action: DecisionAction
}

/**
 * Which request is being decided, and what happens after: every figure of the administrators' side is read
 * again, and the focus goes to the next pending row, or to the heading when none is left.
 */
export function useDecisions<Row extends MoneyRequest>(rows: Row[]) {
  const [open, setOpen] = useState<Open<Row> | null>(null)
  const [decided, setDecided] = useState<string | null>(null)
  const queries = useQueryClient()

  function focusNext(event: Event) {
    if (decided === null) return
    event.preventDefault()
    const from = rows.findIndex((row) => row.id === decided)
    const later = [...rows.slice(from + 1), ...rows.slice(0, Math.max(0, from))]
    const next = later.find((row) => row.status === 'pending' && row.id !== decided)
    const target = next
      ? document.querySelector<HTMLElement>(`[data-row="${next.id}"] [data-decision]`)
      : document.querySelector<HTMLElement>('h1')
    target?.focus()
  }

  return {
    open,
    start: (row: Row, action: DecisionAction) => {
      setDecided(null)
      setOpen({ row, action })
    },
    close: () => setOpen(null),
    markDecided: () => {
      setDecided(open?.row.id ?? null)
      void queries.invalidateQueries({ queryKey: [adminKey] })
    },
    focusNext,
  }
}
