import { useCallback, useState } from 'react'
import { Money } from '@/components/money'
import type { DecisionAction, RequestActs } from '@/components/requests/request'
import { RequestDetails } from '@/components/requests/request-details'
import { RequestList } from '@/components/requests/request-list'
import { VoidRequest } from '@/components/requests/void-request'
import { Button } from '@/components/ui/button'
import { usePlatform } from '@/lib/platform'
import { offlineText, useOnline } from '@/lib/use-online'
import {
  AmountField,
  amountReason,
  isAboutAmount,
  noAmount,
  sentAmount,
  type AmountEntry,
} from './admin-amount'
import { decideDeposit, listDeposits, type AdminDeposit } from './admin-api'
import { depositColumns } from './admin-columns'
import { depositFacts, referenceFacts } from './admin-facts'
import { ReceiptViewer } from './admin-receipt-viewer'

/** Asks the member for what is missing, from where the deposit is shown. */
function AskButton({ row, acts }: { row: AdminDeposit; acts: RequestActs<AdminDeposit> }) {
  const online = useOnline()
  if (row.status !== 'pending' || acts.forbidden !== null) return null
  return (
    <Button
      variant="outline"
      aria-disabled={!online}
      title={online ? undefined : offlineText}
      onClick={() => acts.onDecide(row, 'ask_rest')}
    >
      Ask for the rest
    </Button>
  )
}

/** Deposits Management. */
export function AdminDeposits() {
  const packages = usePlatform().data?.packages ?? []
  const [receipt, setReceipt] = useState<AdminDeposit | null>(null)
  // With the row it was typed for: of the next one another amount arrived.
  const [amount, setAmount] = useState<AmountEntry & { id: string }>({ ...noAmount, id: '' })
  const amountOf = (row: AdminDeposit) => (amount.id === row.id ? amount : noAmount)

  async function decide(row: AdminDeposit, action: DecisionAction, reason: string): Promise<void> {
    const entry = amountOf(row)
    try {
      const received = action === 'reject' ? null : sentAmount(entry)
      await decideDeposit(row.id, { action, reason, received })
      setAmount({ ...noAmount, id: '' })
    } catch (error) {
      if (isAboutAmount(error)) setAmount({ ...entry, error, id: row.id })
      throw error
    }
  }

  const columnsOf = useCallback((acts: RequestActs<AdminDeposit>) => depositColumns(acts, setReceipt), [])
  return (
    <>
      <RequestList
        noun="deposit"
        load={listDeposits}
        columnsOf={columnsOf}
        factsOf={(deposit, action) => depositFacts(deposit, action, packages, () => setReceipt(deposit))}
        flagNoteOf={(deposit, action) =>
          action === 'approve' &&
          deposit.flags.some((flag) => flag.kind === 'same_reference' || flag.kind === 'near_reference')
            ? 'A transaction hash is public. Compare sender, amount and time with the receipt.'
            : undefined
        }
        fieldsOf={(deposit, action, onDecide) =>
          action === 'reject' ? undefined : (
            <AmountField
              row={deposit}
              action={action}
              value={amountOf(deposit)}
              onChange={(entry) => setAmount({ ...entry, id: deposit.id })}
              onDecide={(next) => {
                setAmount({ ...amountOf(deposit), error: null, id: deposit.id })
                onDecide(deposit, next)
              }}
            />
          )
        }
        suggestedReasonOf={(deposit) => amountReason(deposit, amountOf(deposit))}
        decide={decide}
        isPlaced={isAboutAmount}
        details={(deposit, acts, place) => (
          <RequestDetails
            noun="deposit"
            row={deposit}
            acts={acts}
            blocked={deposit.refusal}
            facts={referenceFacts(deposit)}
            memberFacts={[{ label: 'Total deposits', value: <Money value={deposit.total_deposits} /> }]}
            buttons={
              <>
                <Button
                  variant="outline"
                  aria-disabled={acts.forbidden !== null}
                  title={acts.forbidden ?? undefined}
                  onClick={() => setReceipt(deposit)}
                >
                  View receipt
                </Button>
                <AskButton row={deposit} acts={acts} />
                <VoidRequest noun="deposit" row={deposit} />
              </>
            }
            place={place}
          />
        )}
      />
      {receipt ? (
        <ReceiptViewer
          receiptUrl={receipt.receipt_url}
          member={receipt.username}
          onClose={() => setReceipt(null)}
        />
      ) : null}
    </>
  )
}
