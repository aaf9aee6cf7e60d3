import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Disclosure } from '@/components/disclosure'
import { Notice } from '@/components/notice'
import type { Account } from '@/lib/account'
import { cn } from '@/lib/cn'
import { memberQuery } from '@/lib/member'
import { depositsClosedText, type Platform } from '@/lib/platform'
import { toasts } from '@/lib/toast-queue'
import { decidedBefore, useOneRequest } from '@/lib/use-one-request'
import { useCreateDeposit, type DepositOptions } from './api'
import { DepositAddress } from './deposit-address'
import { DepositForm } from './deposit-form'
import { DepositGuide } from './deposit-guide'
import { amountOf, type DepositValues } from './deposit-schema'
import { BalanceNote, PayTo, ThisDeposit } from './deposit-summary'
import { PendingDeposits } from './pending-deposits'
import { useDepositForm } from './use-deposit-form'
import { WhileYouWait } from './while-you-wait'

interface DepositDeskProps {
  account: Account
  options: DepositOptions
  platform: Platform
}

/** What is in review, then the form: open while nothing is, else behind 'Send another deposit'. */
export function DepositDesk({ account, options, platform }: DepositDeskProps) {
  const { pending, deposit_address: address } = options
  const member = useQuery(memberQuery)
  const deposit = useDepositForm(account, options, platform)
  const create = useCreateDeposit()
  const [arrived, setArrived] = useState<string | null>(null)
  // Null until the person decides: what was typed is never out of sight by itself.
  const [opened, setOpened] = useState<boolean | null>(null)
  const request = useOneRequest(`deposit:${account.userId}`, pending, (id, stored) => {
    toasts.success(
      decidedBefore('deposit', stored) ??
        'Deposit request submitted successfully! Admin will review and process your deposit.',
      { money: true },
    )
    deposit.clear()
    setOpened(null)
    setArrived(id)
  })

  async function send(values: DepositValues): Promise<void> {
    const answers = {
      amount: amountOf(values) ?? '0',
      reference: values.reference.trim(),
      receiptUrl: values.receiptUrl,
    }
    try {
      await request.send(answers, (id) => create.mutateAsync({ id, userId: account.userId, ...answers }))
    } catch (error) {
      toasts.error('Failed to submit deposit request. Please try again.', { money: true })
      throw error
    }
  }

  const closed = closedBecause(options)
  const notice = closed ? <Notice tone="info">{closed}</Notice> : null
  const isWaiting = pending.length > 0
  const isOpen = !isWaiting || (opened ?? deposit.isStarted)
  return (
    <div
      className={cn(
        'grid gap-8 lg:gap-x-4',
        isWaiting
          ? 'lg:grid-cols-[minmax(0,1fr)_352px]'
          : 'lg:grid-cols-[minmax(0,560px)_320px] lg:justify-between',
      )}
    >
      <div className="flex min-w-0 flex-col gap-4">
        {options.deposits_open ? null : notice}
        <PendingDeposits options={options} packages={platform.packages} arrived={arrived} />
        {options.deposits_open ? notice : null}
        {notice || !address ? null : (
          <Disclosure
            title="Send another deposit"
            note="Only for a second, separate transfer."
            icon={Plus}
            bare={!isWaiting}
            open={isOpen}
            onOpenChange={setOpened}
          >
            <DepositForm
              // Another one begins with the next request.
              key={arrived}
              account={account}
              deposit={deposit}
              options={options}
              platform={platform}
              onSend={send}
              isUnknown={request.isUnknown}
            >
              <DepositGuide />
              <DepositAddress address={address} sample={options.deposit_address_sample} />
            </DepositForm>
          </Disclosure>
        )}
      </div>
      <aside
        aria-label="Summary"
        className={cn('flex flex-col gap-4 lg:sticky lg:top-22 lg:self-start', !isWaiting && 'max-lg:hidden')}
      >
        {isOpen && !closed ? <ThisDeposit amount={deposit.amount} outcome={deposit.outcome} /> : null}
        {isWaiting ? <WhileYouWait pending={pending} support={platform.support} /> : null}
        <BalanceNote balance={member.data?.balance.available ?? null} />
        {isOpen && !closed ? <PayTo options={options} /> : null}
      </aside>
    </div>
  )
}

/** Why nothing more can be sent now; null when it can. */
function closedBecause(options: DepositOptions): string | null {
  const {
    verification,
    deposits_open: isOpen,
    deposit_address: address,
    pending,
    pending_limit: limit,
  } = options
  if (!isOpen) return depositsClosedText
  if (!address) return 'The operator has not set a deposit address yet. Deposits are closed until then.'
  if (!verification.canDeposit) return 'Deposits open once your account is active.'
  if (pending.length < limit) return null
  return `${limit} of your deposits are in review. Cancel one, or wait for its decision, before you send another.`
}
