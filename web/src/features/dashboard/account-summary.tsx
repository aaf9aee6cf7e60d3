import { TrendingDown } from 'lucide-react'
import type { ReactNode } from 'react'
import { About, type Explanation } from '@/components/about'
import { Money, Percent } from '@/components/money'
import { formatDay } from '@/lib/dates'
import type { Member } from '@/lib/member'
import { isNegative, type Decimal } from '@/lib/money'
import {
  explainEarnings,
  explainOverride,
  explainPackage,
  explainPairing,
  explainProfit,
  explainReferral,
  explainRoi,
} from './explanations'

function Row({ name, explain, children }: { name: string; explain?: Explanation; children: ReactNode }) {
  return (
    <div className="flex items-center justify-between gap-4 border-b py-2.5 last:border-b-0 last:pb-0 md:py-1.5">
      <dt className="flex items-center gap-1.5 text-muted-foreground">
        {name}
        {explain ? <About label={name} {...explain} /> : null}
      </dt>
      <dd className="min-w-0 text-right font-medium">{children}</dd>
    </div>
  )
}

/** A loss keeps its size and weight, and says so by sign, icon and colour. */
function Outcome({ value, children }: { value: Decimal; children: ReactNode }) {
  if (!isNegative(value)) return <span className="font-semibold">{children}</span>
  return (
    <span className="inline-flex items-center gap-1 font-semibold text-destructive">
      <TrendingDown className="size-4 stroke-[1.75]" aria-hidden />
      {children}
    </span>
  )
}

interface AccountSummaryProps {
  member: Member
  /** Plan rates in percent, as the plan writes them. */
  rates: { referral: Decimal; override: Decimal }
  title?: string
}

export function AccountSummary({ member, rates, title = 'Detailed Account Summary' }: AccountSummaryProps) {
  return (
    <section aria-labelledby="account-summary" className="card-box">
      <h2 id="account-summary" className="text-section">
        {title}
      </h2>
      <AccountFields member={member} rates={rates} />
    </section>
  )
}

/** The nine fields. */
export function AccountFields({ member, rates }: Omit<AccountSummaryProps, 'title'>) {
  const { profile, bonuses } = member
  return (
    <dl className="mt-1">
      <Row name="Username">
        <span title={profile.username ?? undefined}>{profile.username ?? 'Not set'}</span>
      </Row>
      <Row name="Package value" explain={explainPackage(member)}>
        <Money value={profile.package_value} />
      </Row>
      <Row name="Referral bonus" explain={explainReferral(member, rates.referral)}>
        <Money value={bonuses.referral.amount} />
      </Row>
      <Row name="Pairing bonus" explain={explainPairing(member)}>
        <Money value={bonuses.pairing.amount} />
      </Row>
      <Row name="Override bonus" explain={explainOverride(member, rates.override)}>
        <Money value={bonuses.override.amount} />
      </Row>
      <Row name="Total earnings" explain={explainEarnings(member)}>
        <span className="font-semibold">
          <Money value={bonuses.total} />
        </span>
      </Row>
      <Row name="Net profit" explain={explainProfit(member)}>
        <Outcome value={member.net_profit}>
          <Money value={member.net_profit} />
        </Outcome>
      </Row>
      <Row name="ROI" explain={explainRoi(member)}>
        <Outcome value={member.roi}>
          <Percent value={member.roi} />
        </Outcome>
      </Row>
      <Row name="Member since">{formatDay(new Date(profile.created_at))}</Row>
    </dl>
  )
}
