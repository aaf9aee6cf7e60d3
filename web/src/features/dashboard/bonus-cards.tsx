import { ChevronRight } from 'lucide-react'
import { Link } from 'react-router'
import { Money } from '@/components/money'
import { cn } from '@/lib/cn'
import type { BonusSum, Member } from '@/lib/member'
import { paths } from '@/lib/paths'

interface BonusCardProps {
  title: string
  sum: BonusSum
  /** The colour of this bonus in the earnings chart. */
  colour: string
  count: string
  query: string
}

function BonusCard({ title, sum, colour, count, query }: BonusCardProps) {
  return (
    <section aria-label={title} className="card-box flex grow flex-col">
      <div className="flex items-center justify-between gap-2">
        <h2 className="max-sm:font-sans max-sm:text-body text-section">{title}</h2>
        <span className={cn('size-3 rounded-mark', colour)} aria-hidden />
      </div>
      <Money value={sum.amount} size="figure" className="mt-1" />
      <p className="text-muted-foreground">
        of which <Money value={sum.reentry} /> re-entry
      </p>
      <div className="mt-auto pt-4">
        <div className="flex flex-wrap items-center justify-between gap-x-4 border-t pt-3 text-compact text-muted-foreground">
          <span>{count}</span>
          <Link
            to={`${paths.transactions}?type=${query}`}
            aria-label={`View rows of ${title.toLowerCase()}`}
            className="inline-flex min-h-6 items-center gap-1 rounded-mark font-semibold text-primary hover:underline pointer-coarse:min-h-11"
          >
            View rows
            <ChevronRight className="size-4" aria-hidden />
          </Link>
        </div>
      </div>
    </section>
  )
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

/** Referral above pairing, in the colours of the chart beside them. */
export function BonusCards({ member }: { member: Member }) {
  const { bonuses, team } = member
  return (
    <div className="grid grid-cols-2 gap-3 md:gap-4 lg:grid-cols-1">
      <BonusCard
        title="Referral bonus"
        sum={bonuses.referral}
        colour="bg-chart-2"
        count={counted(bonuses.referral.count, 'bonus', 'bonuses')}
        query="referral+bonus"
      />
      <BonusCard
        title="Pairing bonus"
        sum={bonuses.pairing}
        colour="bg-chart-1"
        count={counted(team.paying_pairs, 'paying pair', 'paying pairs')}
        query="pairing+bonus"
      />
    </div>
  )
}
