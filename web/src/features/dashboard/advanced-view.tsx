import { TrendingDown } from 'lucide-react'
import type { ReactNode } from 'react'
import { useSearchParams } from 'react-router'
import { EmptyState } from '@/components/empty-state'
import { Figure } from '@/components/figure'
import { Money, Percent } from '@/components/money'
import { Tabs, TabsContent, TabsList, TabsTrigger } from '@/components/ui/tabs'
import type { Member } from '@/lib/member'
import { compare, formatPercent, isNegative } from '@/lib/money'
import type { Platform } from '@/lib/platform'
import { explainEarnings, explainPackage, explainReferral, explainReferrals } from './explanations'

type AdvancedTab = 'bonuses' | 'pairing' | 'network' | 'tree'
export type AdvancedPanels = Record<AdvancedTab, ReactNode>

const tabs: { value: AdvancedTab; label: string }[] = [
  { value: 'bonuses', label: 'Bonus Breakdown' },
  { value: 'pairing', label: 'Pairing Details' },
  { value: 'network', label: 'Network Summary' },
  { value: 'tree', label: 'Team Tree' },
]

interface AdvancedViewProps {
  member: Member
  platform: Platform
  panels: AdvancedPanels
}

/** Four figures, then what is behind them; the open tab stands in the address. */
export default function AdvancedView({ member, platform, panels }: AdvancedViewProps) {
  const [parameters, setParameters] = useSearchParams()
  const tab = tabs.find(({ value }) => value === parameters.get('tab'))?.value ?? 'bonuses'
  const open = (next: string) => setParameters({ view: 'advanced', tab: next }, { preventScrollReset: true })
  const nothing = compare(member.profile.package_value, '0') === 0 && member.team.direct_referrals === 0
  return (
    <div className="flex flex-col gap-6">
      <FourFigures member={member} platform={platform} />
      {nothing ? (
        <EmptyState
          drawing="bollards"
          title="No MLM data available"
          text="Bonuses, pairs and your team appear here once you have a package or a direct referral."
        />
      ) : (
        <Tabs value={tab} onValueChange={open}>
          <TabsList>
            {tabs.map(({ value, label }) => (
              <TabsTrigger key={value} value={value}>
                {label}
              </TabsTrigger>
            ))}
          </TabsList>
          {tabs.map(({ value }) => (
            <TabsContent key={value} value={value} className="pt-4">
              {panels[value]}
            </TabsContent>
          ))}
        </Tabs>
      )}
    </div>
  )
}

function FourFigures({ member, platform }: { member: Member; platform: Platform }) {
  const { profile, bonuses, team, roi } = member
  return (
    <div className="grid grid-cols-2 gap-3 md:gap-4 lg:grid-cols-4">
      <Figure
        className="card-box"
        label="Package"
        value={<Money value={profile.package_value} size="figure" />}
        note={
          profile.package_label
            ? `${profile.package_label}, pairing rate ${formatPercent(profile.package_rate)}`
            : 'No package yet'
        }
        explain={explainPackage(member)}
      />
      <Figure
        className="card-box"
        label="Total earnings"
        value={<Money value={bonuses.total} size="figure" />}
        note={
          isNegative(roi) ? (
            <span className="inline-flex items-center gap-1 text-destructive">
              <TrendingDown className="size-4 stroke-[1.75]" aria-hidden />
              ROI <Percent value={roi} />
            </span>
          ) : (
            <>
              ROI <Percent value={roi} />
            </>
          )
        }
        explain={explainEarnings(member)}
      />
      <Figure
        className="card-box"
        label="Direct referrals"
        value={team.direct_referrals}
        note={`${team.active_pairs} active pairs, ${team.paying_pairs} paying`}
        explain={explainReferrals(member)}
      />
      <Figure
        className="card-box"
        label="Referral bonus"
        value={<Money value={bonuses.referral.amount} size="figure" />}
        note={
          <>
            of which <Money value={bonuses.referral.reentry} /> re-entry
          </>
        }
        explain={explainReferral(member, platform.rates.referral)}
      />
    </div>
  )
}
