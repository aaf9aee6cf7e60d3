import { useCallback, useState } from 'react'
import { Money } from '@/components/money'
import { Reference } from '@/components/reference'
import type { RequestActs } from '@/components/requests/request'
import { RequestDetails } from '@/components/requests/request-details'
import { RequestList } from '@/components/requests/request-list'
import { VoidRequest } from '@/components/requests/void-request'
import { Button } from '@/components/ui/button'
import { usePlatform } from '@/lib/platform'
import { decideDeposit, listDeposits, type AdminDeposit } from './admin-api'
import { depositColumns } from './admin-columns'
import { depositFacts } from './admin-facts'
import { ReceiptViewer } from './admin-receipt-viewer'

/** Deposits Management. */
export function AdminDeposits() {
  const packages = usePlatform().data?.packages ?? []
  const [receipt, setReceipt] = useState<AdminDeposit | null>(null)
  const columnsOf = useCallback((acts: RequestActs<AdminDeposit>) => depositColumns(acts, setReceipt), [])
  return (
    <>
      <RequestList
        noun="deposit"
        load={listDeposits}
        columnsOf={columnsOf}
        factsOf={(deposit, action) => depositFacts(deposit, action, packages, () => setReceipt(deposit))}
        flagNoteOf={(deposit, action) =>
          action === 'approve' && deposit.flags.some((flag) => flag.kind === 'same_reference')
            ? 'A transaction hash is public. Compare sender, amount and time with the receipt.'
            : undefined
        }
        decide={(deposit, action, reason) => decideDeposit(deposit.id, action, reason)}
        details={(deposit, acts, place) => (
          <RequestDetails
            noun="deposit"
            row={deposit}
            acts={acts}
            facts={[
              {
                label: 'Reference',
                value: <Reference value={deposit.reference_number} copy />,
              },
            ]}
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
