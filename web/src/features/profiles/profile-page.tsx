import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { CopyButton } from '@/components/copy-button'
import { MemberId } from '@/components/member-id'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { VerificationGauge } from '@/components/verification-gauge'
import { formatDay } from '@/lib/dates'
import { memberQuery, type Member, type VerificationStep } from '@/lib/member'
import { paths } from '@/lib/paths'
import { ProfileForm } from './profile-form'

export function ProfilePage() {
  const query = useQuery({ ...memberQuery, meta: { errorToast: 'Failed to load profile data' } })
  return (
    <PageBody className="flex flex-col gap-8">
      <PageHead title="Profile" purpose="How you sign in, and what others see of you." />
      <Region
        query={query}
        errorText="Failed to load profile data"
        loadingText="Loading profile"
        skeleton={<PageSkeleton />}
      >
        {(member) => (
          <div className="flex flex-col gap-10 lg:flex-row lg:gap-16">
            <div className="flex w-full max-w-[560px] min-w-0 flex-col gap-8">
              <Missing member={member} />
              <ProfileForm profile={member.profile} />
            </div>
            <Facts member={member} />
          </div>
        )}
      </Region>
    </PageBody>
  )
}

const elsewhere: Partial<Record<VerificationStep, { to: string; label: string }>> = {
  wallet: { to: paths.settings, label: 'Add wallet address' },
  package: { to: paths.deposit, label: 'Go to deposit' },
}

/** First: what is missing. */
function Missing({ member }: { member: Member }) {
  const { verification } = member
  const next = elsewhere[verification.verificationStep]
  return (
    <section aria-label="Verification" className="flex flex-col gap-2">
      <VerificationGauge verification={verification} className="[--ground:var(--background)]" />
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p>{verification.stepMessage}</p>
        {next ? (
          <Button asChild variant="outline" size="compact">
            <Link to={next.to}>{next.label}</Link>
          </Button>
        ) : null}
      </div>
    </section>
  )
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="border-b py-2.5 last:border-b-0 last:pb-0">
      <dt className="text-compact text-muted-foreground">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Facts({ member }: { member: Member }) {
  const { profile } = member
  const sponsor = profile.sponsor
  return (
    <aside aria-label="Fixed details" className="w-full max-w-[560px] lg:w-80">
      <dl className="card-box">
        <Row name="Full name">{profile.display_name ?? 'Not set'}</Row>
        <Row name="Referral id">
          <span className="flex items-center justify-between gap-2">
            <span className="text-compact">
              <MemberId value={profile.id} />
            </span>
            <CopyButton text={profile.id} what="referral id" variant="ghost" size="icon-compact" />
          </span>
        </Row>
        <Row name="Sponsor">{sponsor ? (sponsor.display_name ?? sponsor.username ?? 'Unknown') : 'None'}</Row>
        <Row name="Member since">{formatDay(new Date(profile.created_at))}</Row>
      </dl>
      <p className="mt-3 text-compact text-muted-foreground">
        Your sponsor and your place in the team never change. Members above you see your name, username and
        package, whether it is funded, your position and pair, your team and when you joined. Members you
        invited see your name, username, package and when you joined. Anyone with your referral link sees your
        name and username. No other member sees your email, wallet or balance.
      </p>
    </aside>
  )
}

function PageSkeleton() {
  return (
    <div className="flex max-w-[560px] flex-col gap-6">
      <Skeleton className="h-14 w-full" />
      <Skeleton className="h-20 w-full" />
      <Skeleton className="h-20 w-full" />
      <Skeleton className="h-11 w-36" />
    </div>
  )
}
