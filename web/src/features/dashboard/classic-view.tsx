import { ChevronDown } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Disclosure } from '@/components/disclosure'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { cn } from '@/lib/cn'
import type { Member } from '@/lib/member'
import { compare } from '@/lib/money'
import type { Platform } from '@/lib/platform'
import { useMedia } from '@/lib/use-media'
import { AccountFields, AccountSummary } from './account-summary'
import { BalanceCard } from './balance-card'
import { BonusCards } from './bonus-cards'
import { ComingCard, contentOf } from './coming-card'
import { FirstBalanceCard } from './first-balance-card'
import { FirstStepsCard } from './first-steps-card'
import { InReview } from './in-review-card'
import { LatestTransactions } from './latest-transactions'
import { pendingDeposit } from './next-steps'
import { QuickAccess } from './quick-access'
import { ReferralCard } from './referral-card'
import { SponsorCard } from './sponsor-card'
import { TeamCard } from './team-card'
import { VerificationCard } from './verification-card'

interface ClassicViewProps {
  member: Member
  platform: Platform
  /** The chart of earnings, which loads and fails on its own. */
  earnings: ReactNode
}

/** What I have, what is missing, how it grew, what happened; on phones the last two behind "More". */
export function ClassicView({ member, platform, earnings }: ClassicViewProps) {
  const wide = useMedia('(min-width: 48rem)')
  const isComplete = member.verification.verificationStep === 'complete'
  const first = isComplete ? undefined : pendingDeposit(member)
  const parts = { member, platform, earnings }
  return (
    <div className="flex flex-col gap-3 md:gap-4">
      <InReview pending={member.pending.filter((request) => request !== first)} />
      {isComplete ? <Standing {...parts} /> : <Beginning {...parts} />}
      {wide ? <Rest {...parts} /> : <RestOnPhones {...parts} />}
    </div>
  )
}

/** An account that is complete: the balance first, then what brings more. */
function Standing({ member, platform }: ClassicViewProps) {
  return (
    <>
      <div className="grid gap-3 md:gap-4 lg:grid-cols-[2fr_1fr]">
        <BalanceCard member={member} minimum={platform.limits.min_withdrawal} />
        <VerificationCard member={member} />
      </div>
      <div className="grid gap-3 md:gap-4 lg:grid-cols-2">
        <ReferralCard profile={member.profile} />
        {contentOf(member).team ? (
          <div className="max-md:hidden *:h-full">
            <TeamCard member={member} />
          </div>
        ) : (
          <ComingCard member={member} />
        )}
      </div>
      {contentOf(member).team ? <ComingCard member={member} /> : null}
    </>
  )
}

/** An account that lacks something: the next step first, and one figure, not nine that are zero. */
function Beginning({ member, platform }: ClassicViewProps) {
  const { balance, profile } = member
  const isEmpty = compare(balance.available, '0') === 0 && compare(balance.reserved, '0') === 0
  return (
    <>
      <div className="grid gap-3 md:gap-4 lg:grid-cols-[2fr_1fr]">
        <FirstStepsCard member={member} packages={platform.packages} />
        <div className="flex min-w-0 flex-col gap-3 md:gap-4">
          {isEmpty ? (
            <FirstBalanceCard member={member} />
          ) : (
            <BalanceCard member={member} minimum={platform.limits.min_withdrawal} />
          )}
          <SponsorCard sponsor={profile.sponsor} />
          <ReferralCard profile={profile} />
        </div>
      </div>
      {contentOf(member).team ? <TeamCard member={member} /> : null}
      <ComingCard member={member} />
    </>
  )
}

/** How it grew and what happened, in twelve columns from 1024 px. */
function Rest({ member, platform, earnings }: ClassicViewProps) {
  const has = contentOf(member)
  const isComplete = member.verification.verificationStep === 'complete'
  return (
    <>
      {has.bonuses ? (
        <div className="grid gap-3 md:gap-4 lg:grid-cols-[1fr_2fr]">
          <BonusCards member={member} />
          {earnings}
        </div>
      ) : null}
      <div className="my-2 md:my-4">
        <QuickAccess />
      </div>
      <div className={cn('grid gap-3 md:gap-4', isComplete && 'lg:grid-cols-[2fr_1fr]')}>
        {has.transactions ? <LatestTransactions items={member.latest} /> : null}
        {isComplete ? (
          <AccountSummary member={member} rates={platform.rates} />
        ) : (
          <ClosedSummary member={member} platform={platform} />
        )}
      </div>
    </>
  )
}

/** Three screens at most before the button. */
function RestOnPhones({ member, platform, earnings }: ClassicViewProps) {
  const [isOpen, setIsOpen] = useState(false)
  const has = contentOf(member)
  const isComplete = member.verification.verificationStep === 'complete'
  return (
    <>
      {has.bonuses ? <BonusCards member={member} /> : null}
      {has.transactions ? <LatestTransactions items={member.latest} /> : null}
      <div className="my-2">
        <QuickAccess />
      </div>
      {isComplete ? (
        <>
          <Button variant="outline" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            {isOpen ? 'Less' : 'More'}
            <ChevronDown className={cn(isOpen && 'rotate-180')} aria-hidden />
          </Button>
          {isOpen ? (
            <>
              {has.team ? <TeamCard member={member} /> : null}
              {has.bonuses ? earnings : null}
              <AccountSummary member={member} rates={platform.rates} />
            </>
          ) : null}
        </>
      ) : (
        <>
          {has.bonuses ? earnings : null}
          <ClosedSummary member={member} platform={platform} />
        </>
      )}
    </>
  )
}

/** The nine fields of an account in which most of them are still zero. */
function ClosedSummary({ member, platform }: Omit<ClassicViewProps, 'earnings'>) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <Disclosure
      title="Detailed Account Summary"
      note="Fills with your first deposit."
      open={isOpen}
      onOpenChange={setIsOpen}
    >
      {isOpen ? <AccountFields member={member} rates={platform.rates} /> : null}
    </Disclosure>
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
