import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Money } from '@/components/money'
import { Notice } from '@/components/notice'
import { NotReady } from '@/components/not-ready'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { RiskLine } from '@/components/risk-line'
import { Skeleton } from '@/components/ui/skeleton'
import type { Account } from '@/lib/account'
import { cn } from '@/lib/cn'
import { compare } from '@/lib/money'
import { useAccount } from '@/lib/use-account'
import { withdrawOptionsQuery, type WithdrawOptions } from './api'
import { BalanceSection } from './balance-section'
import { PendingWithdrawals } from './pending-withdrawals'
import { WithdrawDesk } from './withdraw-desk'
import { notVerifiedText } from './withdraw-schema'

export function WithdrawPage() {
  const query = useQuery({ ...withdrawOptionsQuery, meta: { errorToast: 'Failed to load user data' } })
  const account = useAccount()
  return (
    <PageBody className="flex flex-col gap-8">
      <PageHead title="Withdraw" purpose={purposeOf(query.data)} />
      <Region
        query={query}
        errorText="Failed to load user data"
        loadingText="Loading balance"
        skeleton={<PageSkeleton />}
      >
        {(options) => (
          <Region query={account} errorText="Failed to load user data" skeleton={<PageSkeleton />}>
            {(named) => <Body account={named} options={options} />}
          </Region>
        )}
      </Region>
    </PageBody>
  )
}

/** What the page is about now, in one line. */
function purposeOf(options: WithdrawOptions | undefined): string {
  const waiting = options?.pending.length ?? 0
  if (waiting === 1) return 'One request is in review.'
  if (waiting > 1) return `${waiting} requests are in review.`
  return 'Request a payout to your wallet.'
}

function Body({ account, options }: { account: Account; options: WithdrawOptions }) {
  const { verification, wallet_address: address } = options
  const [arrived, setArrived] = useState<string | null>(null)
  return (
    <div
      className={cn(
        'grid gap-8 lg:gap-x-4',
        options.pending.length > 0
          ? 'lg:grid-cols-[minmax(0,1fr)_352px]'
          : 'lg:grid-cols-[minmax(0,560px)_320px] lg:justify-between',
      )}
    >
      <div className="flex min-w-0 flex-col gap-4">
        <PendingWithdrawals options={options} arrived={arrived} />
        <BalanceSection options={options} />
        {verification.canWithdraw && address ? (
          <WithdrawDesk account={account} options={options} address={address} onArrived={setArrived} />
        ) : (
          <Blocked verification={verification} />
        )}
      </div>
      <aside aria-label="Rules" className="hidden flex-col gap-4 lg:flex">
        <div className="card-box flex flex-col gap-2 text-compact text-muted-foreground">
          <p className="font-semibold text-foreground">How withdrawals work</p>
          <p>
            The minimum is <Money value={options.minimum} />. The amount is reserved immediately.
          </p>
          <p>An administrator reviews it. You are notified by email and in the app.</p>
          <p>Your balance is your bonuses less approved withdrawals. Deposits are not part of it.</p>
        </div>
        <RiskLine className="text-muted-foreground" />
      </aside>
    </div>
  )
}

/** Why not, with the figures; never a hint to recruit or to pay more (specification S7.10). */
function Blocked({ verification }: Pick<WithdrawOptions, 'verification'>) {
  const { packageValue, cashInAmount, sufficientCashIn } = verification
  const short = compare(packageValue, '0') > 0 && !sufficientCashIn
  const ready =
    verification.hasProfile && verification.hasWallet && sufficientCashIn && compare(packageValue, '0') > 0
  if (ready) {
    return (
      <Notice tone="info">Your account is pending. Deposits and withdrawals open once it is active.</Notice>
    )
  }
  return (
    <div className="flex flex-col gap-5">
      {short ? (
        <Notice tone="warning" title="You cannot withdraw yet.">
          <p>
            Cash-in required <Money value={packageValue} />, current <Money value={cashInAmount} />. Your
            bonuses stay in your balance.
          </p>
        </Notice>
      ) : null}
      <NotReady verification={verification} text={notVerifiedText} packageToo />
    </div>
  )
}

function PageSkeleton() {
  return (
    <div className="flex max-w-[560px] flex-col gap-8">
      <Skeleton className="h-52 w-full rounded-card" />
      <Skeleton className="h-11 w-full" />
      <Skeleton className="h-20 w-full" />
      <Skeleton className="h-11 w-44" />
    </div>
  )
}
