import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Disclosure } from '@/components/disclosure'
import type { Account } from '@/lib/account'
import { compare, formatMoney, type Decimal } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import { decidedBefore, useOneRequest } from '@/lib/use-one-request'
import { useCreateWithdrawal, type WithdrawOptions } from './api'
import { useWithdrawForm, WithdrawForm } from './withdraw-form'

interface WithdrawDeskProps {
  account: Account
  options: WithdrawOptions
  address: string
  onArrived: (id: string) => void
}

/** Why the form stands closed; null when it need not. */
function closedBecause({ balance, minimum, pending }: WithdrawOptions): string | null {
  if (compare(balance.requestable, minimum) < 0) {
    const now = formatMoney(balance.requestable)
    return `A withdrawal is at least ${formatMoney(minimum)}; ${now} can be requested now.`
  }
  return pending.length > 0 ? 'Only for a second, separate payout.' : null
}

/** The form: open where something can be requested and nothing is in review, else behind a line that says why. */
export function WithdrawDesk({ account, options, address, onArrived }: WithdrawDeskProps) {
  const { pending } = options
  const withdrawal = useWithdrawForm(account, options)
  const create = useCreateWithdrawal()
  // Null until the person decides: what was typed is never out of sight by itself.
  const [opened, setOpened] = useState<boolean | null>(null)
  const [round, setRound] = useState(0)
  const request = useOneRequest(`withdrawal:${account.userId}`, pending, (id, stored) => {
    toasts.success(
      decidedBefore('withdrawal', stored) ??
        'Withdrawal request submitted successfully! Admin will process your request within 24 hours.',
      { money: true },
    )
    withdrawal.clear()
    setOpened(null)
    setRound(round + 1)
    onArrived(id)
  })

  async function send(amount: Decimal): Promise<void> {
    const answers = { amount, address }
    await request.send(answers, (id) => create.mutateAsync({ id, userId: account.userId, ...answers }))
  }

  const why = closedBecause(options)
  return (
    <Disclosure
      title={pending.length > 0 ? 'Request another withdrawal' : 'Request a withdrawal'}
      note={why}
      icon={Plus}
      bare={why === null}
      open={opened ?? withdrawal.isStarted}
      onOpenChange={setOpened}
      className={why === null ? 'mt-4' : undefined}
    >
      <WithdrawForm
        // Another one begins with the next request.
        key={round}
        account={account}
        withdrawal={withdrawal}
        options={options}
        address={address}
        onSend={send}
        isUnknown={request.isUnknown}
      />
    </Disclosure>
  )
}
