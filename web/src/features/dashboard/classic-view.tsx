import type { ReactNode } from 'react'
import { Skeleton } from '@/components/ui/skeleton'
import type { Member } from '@/lib/member'
import type { Platform } from '@/lib/platform'
import { useMedia } from '@/lib/use-media'
import { AccountSummary } from './account-summary'
import { BalanceCard } from './balance-card'
import { BonusCards } from './bonus-cards'
import { LatestTransactions } from './latest-transactions'
import { QuickAccess } from './quick-access'
import { ReferralCard } from './referral-card'
import { TeamCard } from './team-card'
import { VerificationCard } from './verification-card'

interface ClassicViewProps {
  member: Member
  platform: Platform
  /** The chart of earnings, which loads and fails on its own. */
  earnings: ReactNode
}

/** Twelve columns from 1024 px: what I have, what is missing, how it grew, what happened. */
export function ClassicView({ member, platform, earnings }: ClassicViewProps) {
  const wide = useMedia('(min-width: 1024px)')
  return (
    <div className="flex flex-col gap-3 md:gap-4">
      <div className="grid gap-3 md:gap-4 lg:grid-cols-[2fr_1fr]">
        <BalanceCard member={member} minimum={platform.limits.min_withdrawal} />
        <VerificationCard member={member} />
      </div>
      <div className="flex flex-col gap-3 md:gap-4 lg:grid lg:grid-cols-2">
        <ReferralCard profile={member.profile} />
        <div className="order-last *:h-full lg:order-none">
          <TeamCard member={member} />
        </div>
        {wide ? null : <BonusCards member={member} />}
      </div>
      <div className="grid gap-3 md:gap-4 lg:grid-cols-[1fr_2fr]">
        {wide ? <BonusCards member={member} /> : null}
        {earnings}
      </div>
      <div className="my-2 md:my-4">
        <QuickAccess />
      </div>
      <div className="grid gap-3 md:gap-4 lg:grid-cols-[2fr_1fr]">
        <LatestTransactions items={member.latest} />
        <AccountSummary member={member} rates={platform.rates} />
      </div>
    </div>
  )
}

function CardSkeleton({ className }: { className: string }) {
  return (
    <div className={`card-box flex flex-col gap-3 ${className}`}>
      <Skeleton className="h-5 w-40" />
      <Skeleton className="h-10 w-52 max-w-full" />
      <Skeleton className="w-3/4" />
    </div>
  )
}

/** The same boxes, empty. */
export function ClassicSkeleton() {
  return (
    <div className="flex flex-col gap-3 md:gap-4">
      <div className="grid gap-3 md:gap-4 lg:grid-cols-[2fr_1fr]">
        <CardSkeleton className="min-h-[254px]" />
        <CardSkeleton className="min-h-[254px]" />
      </div>
      <div className="grid gap-3 md:gap-4 lg:grid-cols-2">
        <CardSkeleton className="min-h-[276px]" />
        <CardSkeleton className="min-h-[276px]" />
      </div>
      <div className="grid gap-3 md:gap-4 lg:grid-cols-[1fr_2fr]">
        <CardSkeleton className="min-h-[404px]" />
        <CardSkeleton className="min-h-[404px]" />
      </div>
    </div>
  )
}
