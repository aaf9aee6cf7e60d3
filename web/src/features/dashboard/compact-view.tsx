import type { ReactNode } from 'react'
import { Figure } from '@/components/figure'
import { Money, Percent } from '@/components/money'
import type { Member } from '@/lib/member'
import { ratio } from '@/lib/money'
import type { Platform } from '@/lib/platform'
import { AccountSummary } from './account-summary'
import { explainEarnings, explainPackage, explainPairs, explainReferrals } from './explanations'
import { ReferralCard } from './referral-card'

interface CompactViewProps {
  member: Member
  platform: Platform
  /** The network tree, drawn by the team. */
  tree: ReactNode
}

/** The earlier form of the dashboard, from the same parts. */
export default function CompactView({ member, platform, tree }: CompactViewProps) {
  return (
    <div className="flex flex-col gap-3 md:gap-4">
      <StatCards member={member} />
      <div className="grid items-start gap-3 md:gap-4 lg:grid-cols-2">
        <div className="flex flex-col gap-3 md:gap-4">
          <Compensation member={member} />
          <ReferralCard profile={member.profile} title="User Referral" />
        </div>
        <AccountSummary member={member} rates={platform.rates} title="Account Summary" />
      </div>
      {tree}
    </div>
  )
}

function StatCards({ member }: { member: Member }) {
  const { profile, bonuses, team } = member
  return (
    <div className="grid grid-cols-2 gap-3 md:gap-4 lg:grid-cols-4">
      <Figure
        className="card-box"
        label="Package Amount"
        value={<Money value={profile.package_value} />}
        explain={explainPackage(member)}
      />
      <Figure
        className="card-box"
        label="Total Earnings"
        value={<Money value={bonuses.total} />}
        explain={explainEarnings(member)}
      />
      <Figure
        className="card-box"
        label="Direct Referrals"
        value={team.direct_referrals}
        explain={explainReferrals(member)}
      />
      <Figure
        className="card-box"
        label="Active Pairs"
        value={team.active_pairs}
        explain={explainPairs(member)}
      />
    </div>
  )
}

function Compensation({ member }: { member: Member }) {
  const { referral, pairing, override, total } = member.bonuses
  const kinds = [
    { name: 'Referral', sum: referral },
    { name: 'Pairing', sum: pairing },
    { name: 'Override', sum: override },
  ]
  return (
    <section aria-labelledby="compensation" className="card-box">
      <h2 id="compensation" className="text-section">
        Compensation Breakdown
      </h2>
      <dl className="mt-1 divide-y">
        {kinds.map(({ name, sum }) => (
          <div key={name} className="flex items-baseline justify-between gap-4 py-2.5">
            <dt className="text-muted-foreground">{name} bonus</dt>
            <dd className="text-right font-medium">
              <Money value={sum.amount} />
              <span className="block text-compact font-normal text-muted-foreground">
                <Percent value={ratio(sum.amount, total)} /> of the total
              </span>
            </dd>
          </div>
        ))}
        <div className="flex items-baseline justify-between gap-4 pt-2.5 font-semibold">
          <dt>Total</dt>
          <dd>
            <Money value={total} />
          </dd>
        </div>
      </dl>
    </section>
  )
}
