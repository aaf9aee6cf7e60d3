import { Figure } from '@/components/figure'
import { FigureRow } from '@/components/figure-row'
import { Money } from '@/components/money'
import { subtract, ratio, formatPercent } from '@/lib/money'
import { builtInPlatform, mostPaid, usePlatform } from '@/lib/platform'
import type { AdminStats } from './admin-api'

function count(value: number): string {
  return value.toLocaleString('en-US')
}

export function OverviewFigures({ stats }: { stats: AdminStats }) {
  return (
    <FigureRow>
      <Figure
        label="Total users"
        value={count(stats.total_users)}
        explain={{ text: 'Every member, closed accounts too.' }}
      />
      <Figure
        label="Active users"
        value={count(stats.active_users)}
        note="with package investments"
        explain={{ text: 'Members with an approved package.' }}
      />
      <Figure label="Pending deposits" value={count(stats.pending_deposits)} note="waiting for a decision" />
      <Figure
        label="Pending withdrawals"
        value={count(stats.pending_withdrawals)}
        note="waiting for a decision"
      />
    </FigureRow>
  )
}

export function UserFigures({ stats }: { stats: AdminStats }) {
  return (
    <FigureRow>
      <Figure label="Total users" value={count(stats.total_users)} />
      <Figure label="Active users" value={count(stats.active_users)} note="with packages" />
      <Figure label="Inactive users" value={count(stats.inactive_users)} note="no package investment" />
    </FigureRow>
  )
}

export function FinancialFigures({ stats, asOf }: { stats: AdminStats; asOf: string }) {
  const share = ratio(stats.total_bonuses_paid, stats.total_package_investment)
  const most = mostPaid(usePlatform().data ?? builtInPlatform)
  return (
    <FigureRow>
      <Figure
        label="Total package investment"
        value={<Money value={stats.total_package_investment} />}
        note={`${count(stats.active_users)} active packages`}
        explain={{ text: 'The package values of all members together.', asOf }}
      />
      <Figure
        label="Total deposits"
        value={<Money value={stats.total_deposits} />}
        note="approved"
        explain={{ text: 'Approved deposits. Pending and rejected ones do not count.', asOf }}
      />
      <Figure
        label="Total withdrawals"
        value={<Money value={stats.total_withdrawals} />}
        note="approved"
        explain={{ text: 'Approved withdrawals. The software records payouts and sends nothing.', asOf }}
      />
      <Figure
        label="Total bonuses paid"
        value={<Money value={stats.total_bonuses_paid} />}
        note={share ? `${formatPercent(share)} of packages` : undefined}
        explain={{
          text: `Bonuses credited to members. They can never exceed ${formatPercent(most)} of funded packages.`,
          asOf,
        }}
      />
      <Figure
        label="Net cash flow"
        value={<Money value={subtract(stats.total_deposits, stats.total_withdrawals)} />}
        note="Deposits minus withdrawals"
        explain={{
          text: 'What came in less what was approved to go out.',
          formula: (
            <>
              <Money value={stats.total_deposits} /> − <Money value={stats.total_withdrawals} />
            </>
          ),
          asOf,
        }}
      />
    </FigureRow>
  )
}
