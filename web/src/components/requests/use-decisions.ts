import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
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
  // Ids of the rows to go on with. No state: the dialog is gone before a drawing could tell it.
  const followers = useRef<string[] | null>(null)
  const queries = useQueryClient()

  function focusNext(event: Event) {
    if (followers.current === null) return
    event.preventDefault()
    const buttons = followers.current.map((id) =>
      document.querySelector<HTMLElement>(`[data-row="${id}"] [data-decision]`),
    )
    const target = buttons.find((button) => button !== null) ?? document.querySelector('h1')
    target?.focus()
  }

  function reread() {
    void queries.invalidateQueries({ queryKey: [adminKey] })
  }

  return {
    open,
    start: (row: Row, action: DecisionAction) => {
      followers.current = null
      setOpen({ row, action })
    },
    close: () => setOpen(null),
    markDecided: () => {
      const ids = rows.map((row) => row.id)
      const at = ids.indexOf(open?.row.id ?? '')
      followers.current = [...ids.slice(at + 1), ...ids.slice(0, Math.max(0, at))]
      reread()
    },
    reread,
    focusNext,
  }
}
