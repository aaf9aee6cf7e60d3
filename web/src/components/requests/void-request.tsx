import { CorrectionAct } from '@/components/correction-act'
import { Money } from '@/components/money'
import { ProposeDialog } from '@/components/propose-dialog'
import { formatMoney } from '@/lib/money'
import type { MoneyRequest } from './request'
import { requestTexts } from './texts'

interface VoidRequestProps {
  noun: 'deposit' | 'withdrawal'
  row: MoneyRequest
}

/** Proposes that an approved request shall no longer count. */
export function VoidRequest({ noun, row }: VoidRequestProps) {
  if (row.status !== 'approved' || row.voided_at !== null) return null
  const kind = `void_${noun}` as const
  return (
    <CorrectionAct
      kind={kind}
      targetId={row.id}
      label={requestTexts[noun].void}
      dialog={(onClose) => (
        <ProposeDialog
          kind={kind}
          targetId={row.id}
          userId={row.user_id}
          title={`Void the ${noun} of ${formatMoney(row.amount)}?`}
          facts={[
            { label: 'Member', value: row.username },
            { label: 'Amount', value: <Money value={row.amount} className="font-semibold" /> },
            { label: 'Decided by', value: row.decided_by_name ?? 'The member' },
          ]}
          onClose={onClose}
        />
      )}
    />
  )
}
