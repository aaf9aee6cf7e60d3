import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { Money } from '@/components/money'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { PairDiagram } from '@/components/pair-diagram'
import { Region } from '@/components/region'
import { RiskLine } from '@/components/risk-line'
import { SplitBar } from '@/components/split-bar'
import { Badge } from '@/components/status-badge'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { memberQuery, type Member } from '@/lib/member'
import { compare, formatMoney, formatPercent, type Decimal } from '@/lib/money'
import { paths } from '@/lib/paths'
import { platformQuery, type Package, type Platform } from '@/lib/platform'

export function PackagesPage() {
  const platform = useQuery(platformQuery)
  const member = useQuery(memberQuery)
  return (
    <PageBody className="flex flex-col gap-10">
      <PageHead title="Packages" purpose="What each costs, and what your pairing rate is with it." />
      <Region
        query={platform}
        errorText="Failed to load the packages"
        loadingText="Loading packages"
        skeleton={<PageSkeleton />}
      >
        {(settings) => (
          <Region
            query={member}
            errorText="Failed to load user data"
            loadingText="Loading your package"
            skeleton={<PageSkeleton />}
          >
            {(me) => <Body platform={settings} member={me} />}
          </Region>
        )}
      </Region>
    </PageBody>
  )
}

function Body({ platform, member }: { platform: Platform; member: Member }) {
  const { packages } = platform
  const mine = member.profile.package_value
  const next = packages.find((option) => compare(option.value, mine) > 0)
  return (
    <>
      <div className="grid items-start gap-10 lg:grid-cols-[1fr_320px] lg:gap-16">
        <section aria-labelledby="all-packages" className="min-w-0">
          <h2 id="all-packages" className="text-section">
            All packages
          </h2>
          <ul className="mt-2 divide-y border-y">
            {packages.map((option) => (
              <PackageRow key={option.value} option={option} mine={mine} />
            ))}
          </ul>
          <RiskLine className="mt-4" />
        </section>
        <Mine member={member} next={next ?? null} />
      </div>
      <Plan platform={platform} />
    </>
  )
}

/** First: mine, and the full price of the next. */
function Mine({ member, next }: { member: Member; next: Package | null }) {
  const { profile } = member
  return (
    <aside aria-label="Your package" className="card-box order-first flex flex-col gap-2 lg:order-none">
      <p className="text-muted-foreground">Your package</p>
      <p className="font-title text-figure font-semibold">{profile.package_label ?? 'None yet'}</p>
      <p className="text-compact text-muted-foreground">
        {profile.package_label ? (
          <>
            <Money value={profile.package_value} />, pairing rate {formatPercent(profile.package_rate)}
          </>
        ) : (
          'Without a package your pairing rate is 0%.'
        )}
      </p>
      {next ? (
        <>
          <p className="border-t pt-3 text-compact">
            {profile.package_label
              ? `Moving to ${next.label} costs the full ${formatMoney(next.value)}. What you paid before is not deducted.`
              : `The smallest one, ${next.label}, costs ${formatMoney(next.value)}.`}
          </p>
          <Button asChild variant="outline" className="mt-2 self-start">
            <Link to={paths.deposit}>Go to deposit</Link>
          </Button>
        </>
      ) : (
        <p className="border-t pt-3 text-compact">This is the highest package.</p>
      )}
    </aside>
  )
}

function standing(option: Package, mine: Decimal): string {
  if (compare(mine, '0') === 0) return `Pay ${formatMoney(option.value)} in full`
  return compare(option.value, mine) > 0
    ? `Upgrade: pay ${formatMoney(option.value)} in full`
    : 'Lower than yours'
}

function PackageRow({ option, mine }: { option: Package; mine: Decimal }) {
  const current = compare(option.value, mine) === 0
  return (
    <li className="flex min-h-14 flex-wrap items-center justify-between gap-x-6 gap-y-1 py-2.5">
      <span className="flex min-w-0 flex-wrap items-baseline gap-x-3">
        <span className="font-semibold">{option.label}</span>
        <span className="text-compact text-muted-foreground">Pairing rate {formatPercent(option.rate)}</span>
      </span>
      <span className="flex grow items-center justify-between gap-4 sm:grow-0">
        {current ? (
          <Badge tone="positive">Current</Badge>
        ) : (
          <span className="text-compact text-muted-foreground">{standing(option, mine)}</span>
        )}
        <Money value={option.value} className="min-w-24 text-right font-semibold" />
      </span>
    </li>
  )
}

/** The plan in words and in one bar; what the company keeps is part of it. */
function Plan({ platform }: { platform: Platform }) {
  const { rates, packages } = platform
  const top = packages.at(-1)
  const { referral, override, reentry } = rates
  return (
    <section aria-labelledby="the-plan" className="flex flex-col gap-6">
      <h2 id="the-plan" className="text-section">
        How bonuses work
      </h2>
      <div className="grid gap-8 lg:grid-cols-2 lg:gap-16">
        <ul className="flex list-disc flex-col gap-2 pl-5">
          <li>
            Referral: {formatPercent(referral)} of the package of each direct referral, once it is funded.
          </li>
          <li>
            Pairing: your direct referrals form pairs in the order they joined. Both packages of a pair, times
            your own pairing rate.
          </li>
          <li>
            Override: {formatPercent(override)} of the volume of each paying pair of your direct referrals.
          </li>
          <li>
            {formatPercent(reentry)} of each bonus is recorded as re-entry. It is not deducted from your
            balance and is not cash-in.
          </li>
          <li>A package only ever goes up, at the full price of the higher one.</li>
        </ul>
        <PairDiagram />
      </div>
      {top ? (
        <div>
          <h3 className="text-body">
            Where the {formatMoney(top.value)} for a {top.label} goes
          </h3>
          <div className="mt-3">
            <SplitBar price={top.value} rates={{ pairing: top.rate, referral, override }} />
          </div>
        </div>
      ) : null}
      <p className="flex flex-wrap gap-x-5 gap-y-2">
        <Link className="text-link" to={paths.payouts}>
          Where payouts come from
        </Link>
        <Link className="text-link" to={paths.incomeDisclosure}>
          Income disclosure
        </Link>
        <Link className="text-link" to={paths.dashboard}>
          Back to the dashboard
        </Link>
      </p>
    </section>
  )
}

function PageSkeleton() {
  return (
    <div className="grid gap-10 lg:grid-cols-[1fr_320px] lg:gap-16">
      <Skeleton className="h-76 w-full" />
      <Skeleton className="h-56 w-full rounded-card" />
    </div>
  )
}
