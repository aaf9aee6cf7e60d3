import { Money, Percent } from '@/components/money'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { cn } from '@/lib/cn'
import { formatMoney, type Decimal } from '@/lib/money'
import type { Platform } from '@/lib/platform'
import { referralsToReach } from './plan'

function headsOf(goal: Decimal): string[] {
  return [
    'Package',
    'Price',
    'Pairing rate',
    'Upgrade to it costs',
    'Referrals to recover the price',
    `Referrals to reach ${formatMoney(goal)}, the least that can be withdrawn`,
  ]
}

/** What each package costs, and how many funded direct referrals with the same package it takes. */
export function PlanTable({ platform }: { platform: Platform }) {
  return (
    <Table label="The five packages">
      <caption className="sr-only">The five packages</caption>
      <thead>
        <tr>
          {headsOf(platform.limits.min_withdrawal).map((head, index) => (
            <TableHead
              key={head}
              data-align={index > 0 ? 'right' : undefined}
              className={cn(
                'align-bottom',
                index === 0 && 'sticky left-0 bg-background',
                index > 3 && 'min-w-40',
              )}
            >
              {head}
            </TableHead>
          ))}
        </tr>
      </thead>
      <tbody>
        {platform.packages.map((item) => {
          const rates = { referral: platform.rates.referral, pairing: item.rate }
          return (
            <TableRow key={item.value}>
              <TableCell className="sticky left-0 bg-background font-semibold whitespace-nowrap">
                {item.label}
              </TableCell>
              <TableCell data-align="right">
                <Money value={item.value} />
              </TableCell>
              <TableCell data-align="right">
                <Percent value={item.rate} />
              </TableCell>
              <TableCell data-align="right">
                <Money value={item.value} />
              </TableCell>
              <TableCell data-align="right">
                {referralsToReach(item.value, item.value, rates) ?? '—'}
              </TableCell>
              <TableCell data-align="right">
                {referralsToReach(platform.limits.min_withdrawal, item.value, rates) ?? '—'}
              </TableCell>
            </TableRow>
          )
        })}
      </tbody>
    </Table>
  )
}
