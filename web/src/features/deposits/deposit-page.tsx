import { useQuery } from '@tanstack/react-query'
import { NotReady } from '@/components/not-ready'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Skeleton } from '@/components/ui/skeleton'
import type { Account } from '@/lib/account'
import { restToSend } from '@/lib/deposit-rest'
import { platformQuery, type Platform } from '@/lib/platform'
import { useAccount } from '@/lib/use-account'
import { depositOptionsQuery, type DepositOptions } from './api'
import { DepositDesk } from './deposit-desk'

export function DepositPage() {
  const options = useQuery({ ...depositOptionsQuery, meta: { errorToast: 'Failed to load user data' } })
  const platform = useQuery(platformQuery)
  const account = useAccount()
  return (
    <PageBody className="flex flex-col gap-8">
      <PageHead title="Deposit" purpose={purposeOf(options.data)} />
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
  const { verification } = options
  if (!verification.hasProfile || !verification.hasWallet) {
    return <NotReady verification={verification} text="Please complete your profile and settings first" />
  }
  // What was chosen before may no longer be offered.
  const offer = `${options.package_value} ${verification.missingCashIn ?? ''}`
  return <DepositDesk key={offer} account={account} options={options} platform={platform} />
}

/** What the page is about now, in one line. */
function purposeOf(options: DepositOptions | undefined): string {
  if (options?.pending.some(restToSend)) return 'Part of your deposit is missing.'
  const waiting = options?.pending.length ?? 0
  if (waiting === 1) return 'One request is in review.'
  if (waiting > 1) return `${waiting} requests are in review.`
  return 'Pay for a package, then send us the proof.'
}

function FormSkeleton() {
  return (
    <div className="grid gap-16 lg:grid-cols-[minmax(0,560px)_320px] lg:justify-between lg:gap-4">
      <div className="flex flex-col gap-4">
        <Skeleton className="h-6 w-40" />
        <Skeleton className="h-28 w-full" />
        <Skeleton className="mt-6 h-6 w-40" />
        <Skeleton className="h-72 w-full" />
        <Skeleton className="mt-6 h-6 w-40" />
        <Skeleton className="h-70 w-full" />
      </div>
      <div className="hidden flex-col gap-4 lg:flex">
        <Skeleton className="h-72 w-full rounded-card" />
        <Skeleton className="h-36 w-full rounded-card" />
      </div>
    </div>
  )
}
