import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { Link } from 'react-router'
import { correctionsQuery, type CorrectionKind } from '@/lib/corrections'
import { paths } from '@/lib/paths'
import { useAdminRole } from '@/lib/use-admin-role'
import { offlineText, useOnline } from '@/lib/use-online'
import { Button } from './ui/button'

interface CorrectionActProps {
  kind: CorrectionKind
  targetId: string
  label: string
  dialog: (onClose: () => void) => ReactNode
}

/** Where a super administrator proposes a correction of what is shown, or is led to the one that waits. */
export function CorrectionAct({ kind, targetId, label, dialog }: CorrectionActProps) {
  const role = useAdminRole()
  const { data } = useQuery(correctionsQuery)
  const [open, setOpen] = useState(false)
  const online = useOnline()
  if (role !== 'super_admin') return null
  const waits = data?.waiting.some((one) => one.kind === kind && one.target_id === targetId)
  return (
    <>
      {waits ? (
        <Button variant="outline" asChild>
          <Link to={paths.admin.corrections}>A correction waits</Link>
        </Button>
      ) : (
        <Button
          variant="outline"
          aria-disabled={!online}
          title={online ? undefined : offlineText}
          onClick={() => setOpen(true)}
        >
          {label}
        </Button>
      )}
      {open ? dialog(() => setOpen(false)) : null}
    </>
  )
}
