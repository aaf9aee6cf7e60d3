import { RequestFlags } from '@/components/decision-dialog'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { Facts } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Sheet, SheetContent } from '@/components/ui/sheet'
import type { AdminDeposit } from './admin-api'
import type { DepositActs } from './admin-columns'

interface DetailsProps {
  deposit: AdminDeposit
  acts: DepositActs
  onClose: () => void
}

/** One request beside what is known of its member. */
export function DepositDetails({ deposit, acts, onClose }: DetailsProps) {
  const pending = deposit.status === 'pending' && acts.forbidden === null
  return (
    <Sheet open onOpenChange={(open) => !open && onClose()}>
      <SheetContent
        side="right"
        title={`Deposit of ${deposit.username}`}
        footer={
          <>
            <Button
              variant="outline"
              aria-disabled={acts.forbidden !== null}
              title={acts.forbidden ?? undefined}
              onClick={() => acts.forbidden === null && acts.onReceipt(deposit)}
            >
              View receipt
            </Button>
            {pending ? (
              <>
                <Button variant="outline" onClick={() => acts.onDecide(deposit, 'reject')}>
                  Reject
                </Button>
                <Button variant="outline" onClick={() => acts.onDecide(deposit, 'approve')}>
                  Approve
                </Button>
              </>
            ) : null}
          </>
        }
      >
        <div className="mb-4 text-compact empty:hidden">
          <RequestFlags flags={deposit.flags} />
        </div>
        <h3 className="mb-2 text-section">Request</h3>
        <Facts
          facts={[
            { label: 'User', value: deposit.username },
            { label: 'Amount', value: <Money value={deposit.amount} className="font-semibold" /> },
            {
              label: 'Reference',
              value: <span className="font-mono text-compact">{deposit.reference_number}</span>,
            },
            { label: 'Status', value: <StatusBadge status={deposit.status} /> },
            { label: 'Date', value: <Timestamp value={deposit.created_at} exact /> },
            ...(deposit.decided_at
              ? [
                  { label: 'Decided', value: <Timestamp value={deposit.decided_at} exact /> },
                  { label: 'Decided by', value: deposit.decided_by_name ?? 'The member' },
                ]
              : []),
            { label: 'Admin notes', value: deposit.admin_notes ?? 'None' },
          ]}
        />
        <h3 className="mt-6 mb-2 text-section">Member</h3>
        <Facts
          facts={[
            { label: 'Display name', value: deposit.display_name ?? 'None' },
            { label: 'Email', value: deposit.email ?? 'N/A' },
            {
              label: 'Wallet',
              value: deposit.trc20_wallet_address ? (
                <Address value={deposit.trc20_wallet_address} copy />
              ) : (
                'Not set'
              ),
            },
            { label: 'Package', value: <Money value={deposit.package_value} /> },
            { label: 'Cash-in', value: <Money value={deposit.cash_in_amount} /> },
            { label: 'Available', value: <Money value={deposit.available_balance} /> },
            { label: 'Total deposits', value: <Money value={deposit.total_deposits} /> },
          ]}
        />
      </SheetContent>
    </Sheet>
  )
}
