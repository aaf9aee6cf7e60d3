import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ErrorLine } from '@/components/field'
import { Money } from '@/components/money'
import { Notice } from '@/components/notice'
import { Facts } from '@/components/review-dialog'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { errorText } from '@/lib/errors'
import { memberQuery, type Member } from '@/lib/member'
import { add, compare } from '@/lib/money'
import { isCancelled } from '@/lib/proof'
import { moneyLeftOf, useCloseAccount, type MoneyLeft } from './api'

/** What the page knows of it; the server compares. Null when nothing is left. */
function knownLeft({ balance, pending }: Member): MoneyLeft | null {
  const deposits = pending.filter(({ source }) => source === 'deposit').map(({ amount }) => amount)
  const left = {
    available: balance.available,
    requestable: balance.requestable,
    pending_withdrawals: balance.reserved,
    pending_deposits: add(...deposits),
  }
  return Object.values(left).some((amount) => compare(amount, '0') !== 0) ? left : null
}

/** Says what is given up when money is left, and closes. */
export function CloseDialog({ onClose }: { onClose: () => void }) {
  const close = useCloseAccount()
  const member = useQuery(memberQuery).data
  const [found, setFound] = useState<MoneyLeft | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const left = found ?? (member ? knownLeft(member) : null)

  async function run() {
    setProblem(null)
    try {
      await close.mutateAsync(left !== null)
    } catch (error) {
      const money = moneyLeftOf(error)
      if (money) setFound(money)
      else if (!isCancelled(error))
        setProblem(errorText(error, 'Your account could not be closed. Please try again.'))
    }
  }

  return (
    <Dialog open onOpenChange={(next) => !next && !close.isPending && onClose()}>
      <DialogContent
        title="Close your account?"
        description="This cannot be undone. You are signed out on every device."
        closable={!close.isPending}
        onInteractOutside={(event) => event.preventDefault()}
        footer={
          <>
            <Button variant="outline" onClick={() => !close.isPending && onClose()}>
              Keep my account
            </Button>
            <Button variant="destructive" busy={close.isPending && 'Closing...'} onClick={() => void run()}>
              {left ? 'Give this up and close' : 'Close account'}
            </Button>
          </>
        }
      >
        <div role="alert" className="empty:hidden">
          {left ? <GivenUp left={left} /> : null}
        </div>
        <div role="alert" className="empty:hidden">
          {problem ? <ErrorLine className="mt-3">{problem}</ErrorLine> : null}
        </div>
      </DialogContent>
    </Dialog>
  )
}

function GivenUp({ left }: { left: MoneyLeft }) {
  return (
    <Notice tone="warning" title="You have money here">
      <p>If you close the account now, you give up:</p>
      <Facts
        facts={[
          { label: 'Withdrawable balance', value: <Money value={left.available} /> },
          { label: 'Pending withdrawals', value: <Money value={left.pending_withdrawals} /> },
          { label: 'Pending deposits', value: <Money value={left.pending_deposits} /> },
        ]}
      />
      <p className="mt-3">
        Pending requests are cancelled. USDT you have already sent is not returned. To keep the money,
        withdraw it first.
      </p>
    </Notice>
  )
}
