import { useQuery } from '@tanstack/react-query'
import { Figure } from '@/components/figure'
import { About } from '@/components/about'
import { Money, Percent } from '@/components/money'
import { Region } from '@/components/region'
import { Skeleton } from '@/components/ui/skeleton'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { formatMoney, formatPercent, ratio } from '@/lib/money'
import { networkQuery, type NetworkSummary as Summary } from './api'
import { TeamGrowthCard } from './team-growth-card'

/** What the whole network below the member brought, and what of it the company keeps. */
export function NetworkSummary() {
  const query = useQuery(networkQuery)
  return (
    <div className="flex flex-col gap-3 md:gap-4">
      <Region
        query={query}
        errorText="Failed to load MLM data"
        loadingText="Loading network"
        skeleton={
          <div className="grid gap-3 md:grid-cols-3 md:gap-4">
            <Skeleton className="h-30 rounded-card" />
            <Skeleton className="h-30 rounded-card" />
            <Skeleton className="h-30 rounded-card" />
            <Skeleton className="h-80 rounded-card md:col-span-3" />
          </div>
        }
      >
        {(summary) => (
          <>
            <Figures summary={summary} />
            <Distribution summary={summary} />
          </>
        )}
      </Region>
      <TeamGrowthCard />
    </div>
  )
}

function Figures({ summary }: { summary: Summary }) {
  const {
    member_count: members,
    team_count: team,
    total_packages: packages,
    total_user: earned,
    as_of: asOf,
  } = summary
  return (
    <div className="grid gap-3 md:grid-cols-3 md:gap-4">
      <Figure
        className="card-box"
        label="Members"
        value={members.toLocaleString('en-US')}
        note="You and everyone below you"
        explain={{
          text: 'You, your direct referrals, theirs, and so on.',
          formula: `1 + ${team.toLocaleString('en-US')} below you`,
          asOf,
        }}
      />
      <Figure
        className="card-box"
        label="Network packages"
        value={<Money value={packages} />}
        note="Effective packages of all members"
        explain={{
          text: 'The packages of all these members added up.',
          formula: `${members} members, together ${formatMoney(packages)}`,
          asOf,
        }}
      />
      <Figure
        className="card-box"
        label="Network earnings"
        value={<Money value={earned} />}
        note="All bonuses these members were credited"
        explain={{
          text: 'Referral, pairing and override bonuses of all these members.',
          formula: `${formatMoney(summary.total_referral)} + ${formatMoney(summary.total_pairing)} + ${formatMoney(summary.total_override)} = ${formatMoney(earned)}`,
          asOf,
        }}
      />
    </div>
  )
}

function Distribution({ summary }: { summary: Summary }) {
  const {
    total_packages: packages,
    total_user: earned,
    total_company_profit: profit,
    profit_percentage: percent,
    as_of: asOf,
  } = summary
  const rows = [
    { name: 'Referral bonuses', amount: summary.total_referral },
    { name: 'Pairing bonuses', amount: summary.total_pairing },
    { name: 'Override bonuses', amount: summary.total_override },
  ]
  return (
    <section aria-labelledby="distribution" className="card-box">
      <h2 id="distribution" className="text-section">
        Bonus distribution
      </h2>
      <Table>
        <thead>
          <tr>
            <TableHead>Part</TableHead>
            <TableHead data-align="right">Amount</TableHead>
            <TableHead data-align="right">Of all packages</TableHead>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <TableRow key={row.name}>
              <TableCell>{row.name}</TableCell>
              <TableCell data-align="right">
                <Money value={row.amount} />
              </TableCell>
              <TableCell data-align="right">
                <Percent value={ratio(row.amount, packages)} />
              </TableCell>
            </TableRow>
          ))}
          <TableRow className="font-semibold">
            <TableCell>Members earned</TableCell>
            <TableCell data-align="right">
              <Money value={earned} />
            </TableCell>
            <TableCell data-align="right">
              <Percent value={ratio(earned, packages)} />
            </TableCell>
          </TableRow>
          <TableRow className="font-semibold">
            <TableCell>
              <span className="inline-flex items-center gap-1.5">
                Company profit
                <About
                  label="company profit"
                  text="What is left of all packages after every bonus."
                  formula={`${formatMoney(packages)} − ${formatMoney(earned)} = ${formatMoney(profit)}`}
                  asOf={asOf}
                />
              </span>
            </TableCell>
            <TableCell data-align="right">
              <Money value={profit} />
            </TableCell>
            <TableCell data-align="right">
              <span className="inline-flex items-center gap-1.5">
                <About
                  label="profit %"
                  text="Company profit as a share of all packages; 0 without packages."
                  formula={`${formatMoney(profit)} / ${formatMoney(packages)} = ${formatPercent(percent)}`}
                  asOf={asOf}
                />
                <Percent value={percent} />
              </span>
            </TableCell>
          </TableRow>
        </tbody>
      </Table>
    </section>
  )
}
