import { Link } from 'react-router'
import { Money, Percent } from '@/components/money'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import type { Member } from '@/lib/member'
import { formatPercent, ratio } from '@/lib/money'
import { paths } from '@/lib/paths'
import { builtInPlatform, usePlatform } from '@/lib/platform'
import { EarningsCard } from './earnings-card'

/** The chart of earnings, then each type with its count, total, re-entry and share. */
export function BonusBreakdown({ bonuses }: { bonuses: Member['bonuses'] }) {
  const { rates } = usePlatform().data ?? builtInPlatform
  const kinds = [
    { name: 'Pairing', colour: 'bg-chart-1', sum: bonuses.pairing, query: 'pairing+bonus' },
    { name: 'Referral', colour: 'bg-chart-2', sum: bonuses.referral, query: 'referral+bonus' },
    { name: 'Override', colour: 'bg-chart-3', sum: bonuses.override, query: 'override+bonus' },
  ]
  const count = kinds.reduce((sum, kind) => sum + kind.sum.count, 0)
  return (
    <div className="flex flex-col gap-3 md:gap-4">
      <EarningsCard />
      <section aria-labelledby="bonuses-by-type" className="card-box">
        <h2 id="bonuses-by-type" className="text-section">
          Bonuses by type
        </h2>
        <Table label="Bonuses by type">
          <thead>
            <tr>
              <TableHead>Type</TableHead>
              <TableHead data-align="right">Count</TableHead>
              <TableHead data-align="right">Total</TableHead>
              <TableHead data-align="right">Re-entry</TableHead>
              <TableHead data-align="right">Share</TableHead>
            </tr>
          </thead>
          <tbody>
            {kinds.map(({ name, colour, sum, query }) => (
              <TableRow key={name}>
                <TableCell className="font-semibold whitespace-nowrap">
                  <Link
                    to={`${paths.transactions}?type=${query}`}
                    className="inline-flex items-center gap-2 rounded-mark hover:underline"
                  >
                    <span aria-hidden className={`size-3 shrink-0 rounded-mark ${colour}`} />
                    {name}
                  </Link>
                </TableCell>
                <TableCell data-align="right">{sum.count}</TableCell>
                <TableCell data-align="right">
                  <Money value={sum.amount} />
                </TableCell>
                <TableCell data-align="right">
                  <Money value={sum.reentry} />
                </TableCell>
                <TableCell data-align="right">
                  <Percent value={ratio(sum.amount, bonuses.total)} />
                </TableCell>
              </TableRow>
            ))}
            <TableRow className="font-semibold">
              <TableCell className="whitespace-nowrap">Total</TableCell>
              <TableCell data-align="right">{count}</TableCell>
              <TableCell data-align="right">
                <Money value={bonuses.total} />
              </TableCell>
              <TableCell data-align="right">
                <Money value={bonuses.reentry} />
              </TableCell>
              <TableCell data-align="right">
                <Percent value={ratio(bonuses.total, bonuses.total)} />
              </TableCell>
            </TableRow>
          </tbody>
        </Table>
        <p className="mt-3 text-compact text-muted-foreground">
          {formatPercent(rates.reentry)} of each bonus is recorded as re-entry. It is not deducted from your
          balance and is not cash-in.
        </p>
      </section>
    </div>
  )
}
