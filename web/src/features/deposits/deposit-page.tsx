import { useQuery } from '@tanstack/react-query'
import { Notice } from '@/components/notice'
import { NotReady } from '@/components/not-ready'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Skeleton } from '@/components/ui/skeleton'
import type { Account } from '@/lib/account'
import { memberQuery } from '@/lib/member'
import { platformQuery, type Platform } from '@/lib/platform'
import { useAccount } from '@/lib/use-account'
import { depositOptionsQuery, type DepositOptions } from './api'
import { DepositAddress } from './deposit-address'
import { DepositForm } from './deposit-form'
import { DepositGuide } from './deposit-guide'
import { PendingDeposits } from './pending-deposits'

export function DepositPage() {
  const options = useQuery({ ...depositOptionsQuery, meta: { errorToast: 'Failed to load user data' } })
  const platform = useQuery(platformQuery)
  const account = useAccount()
  return (
    <PageBody className="flex flex-col gap-8">
      <PageHead title="Deposit" purpose="Pay for a package, then send us the proof." />
      <Region
        query={options}
        errorText="Failed to load user data"
        loadingText="Loading deposit form"
        skeleton={<FormSkeleton />}
      >
        {(data) => (
          <Region query={platform} errorText="Failed to load user data" skeleton={<FormSkeleton />}>
            {(settings) => (
              <Region query={account} errorText="Failed to load user data" skeleton={<FormSkeleton />}>
                {(named) => <Body account={named} options={data} platform={settings} />}
              </Region>
            )}
          </Region>
        )}
      </Region>
    </PageBody>
  )
}

interface BodyProps {
  account: Account
  options: DepositOptions
  platform: Platform
}

function Body({ account, options, platform }: BodyProps) {
  const member = useQuery(memberQuery)
  const { verification, pending, deposit_address: address } = options
  if (!verification.hasProfile || !verification.hasWallet) {
    return <NotReady verification={verification} text="Please complete your profile and settings first" />
  }
  const waiting = pending.length > 0 ? <PendingDeposits pending={pending} /> : null
  const closed = closedBecause(options)
  if (closed || !address) {
    return (
      <div className="flex max-w-[560px] flex-col gap-8">
        {waiting}
        <Notice tone="info">
          {closed ?? 'The operator has not set a deposit address yet. Deposits are closed until then.'}
        </Notice>
      </div>
    )
  }
  return (
    <div className="flex flex-col gap-8">
      {waiting ? <div className="max-w-[560px]">{waiting}</div> : null}
      <DepositForm
        key={options.package_value}
        account={account}
        options={options}
        platform={platform}
        balance={member.data?.balance.available ?? null}
      >
        <DepositGuide />
        <DepositAddress address={address} sample={options.deposit_address_sample} />
      </DepositForm>
    </div>
  )
}

/** Why nothing more can be sent now; null when it can. */
function closedBecause({ verification, pending, pending_limit: limit }: DepositOptions): string | null {
  if (!verification.canDeposit) return 'Deposits open once your account is active.'
  if (pending.length < limit) return null
  return `${limit} of your deposits wait for review. Cancel one, or wait for its decision, before you send another.`
}

function FormSkeleton() {
  return (
    <div className="flex gap-16">
      <div className="flex w-full max-w-[560px] flex-col gap-4">
        <Skeleton className="h-6 w-40" />
        <Skeleton className="h-28 w-full" />
        <Skeleton className="mt-6 h-6 w-40" />
        <Skeleton className="h-72 w-full" />
        <Skeleton className="mt-6 h-6 w-40" />
        <Skeleton className="h-70 w-full" />
      </div>
      <div className="hidden w-80 flex-col gap-4 lg:flex">
        <Skeleton className="h-72 w-full rounded-card" />
        <Skeleton className="h-36 w-full rounded-card" />
      </div>
    </div>
  )
}
