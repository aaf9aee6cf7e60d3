import { ChevronRight } from 'lucide-react'
import { Money } from '@/components/money'
import { MovementAmount } from '@/components/movement-amount'
import { StatusBadge } from '@/components/status-badge'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { describeMoment, formatTime, zoneName } from '@/lib/dates'
import type { HistoryItem } from '@/lib/member'
import { shownStatus } from '@/lib/movement'
import { useMedia } from '@/lib/use-media'
import { useNow } from '@/lib/use-now'
import type { Movement } from './api'
import { groupByDay, type Day } from './history-days'
import { BalanceAfter, OpenButton, RowIcon, RowNote } from './row-parts'

interface HistoryListProps {
  items: Movement[]
  whole: Parameters<typeof groupByDay>[2]
  onOpen: (item: HistoryItem) => void
}

interface DaysProps {
  days: Day[]
  onOpen: (item: HistoryItem) => void
}

export function itemKey(item: HistoryItem): string {
  return `${item.source}:${item.id}`
}

/** By day: a table from 768 px, cards below; each row opens its details. */
export function HistoryList({ items, whole, onOpen }: HistoryListProps) {
  const wide = useMedia('(min-width: 48rem)')
  const days = groupByDay(items, useNow(), whole)
  return wide ? <Rows days={days} onOpen={onOpen} /> : <Cards days={days} onOpen={onOpen} />
}

/** On paper, which is read on another day, only the date. */
function DayName({ word, date }: Pick<Day, 'word' | 'date'>) {
  return (
    <>
      <span data-print="no">{word}, </span>
      {date}
    </>
  )
}

function DaySum({ bonuses }: Pick<Day, 'bonuses'>) {
  if (bonuses === null) return null
  return (
    <span className="text-compact font-normal text-muted-foreground">
      <Money value={bonuses} signed /> bonuses this day
    </span>
  )
}

function Time({ item }: { item: Movement }) {
  const moment = new Date(item.effective_at)
  return (
    <time dateTime={item.effective_at} title={describeMoment(moment)} className="tabular">
      {formatTime(moment)}
    </time>
  )
}

function Rows({ days, onOpen }: DaysProps) {
  return (
    <Table aria-label="Transactions">
      <thead>
        <tr>
          <TableHead className="w-24 whitespace-nowrap">Time, {zoneName(new Date())}</TableHead>
          <TableHead>Movement</TableHead>
          <TableHead>Status</TableHead>
          <TableHead data-align="right">Amount</TableHead>
          <TableHead data-align="right" className="whitespace-nowrap">
            Balance after
          </TableHead>
          <TableHead data-print="no" className="w-8">
            <span className="sr-only">Details</span>
          </TableHead>
        </tr>
      </thead>
      {days.map(({ word, date, items, bonuses }) => (
        <tbody key={date} className="border-b last:border-b-0">
          <tr>
            <th scope="rowgroup" colSpan={6} className="pt-4 pb-1 text-left text-compact font-semibold">
              <span className="flex flex-wrap justify-between gap-x-4">
                <span>
                  <DayName word={word} date={date} />
                </span>
                <DaySum bonuses={bonuses} />
              </span>
            </th>
          </tr>
          {items.map((item) => (
            <TableRow
              key={itemKey(item)}
              className="relative hover:bg-muted has-[:focus-visible]:bg-muted print:break-inside-avoid"
            >
              <TableCell className="text-muted-foreground">
                <Time item={item} />
              </TableCell>
              <TableCell>
                <div className="flex items-center gap-3">
                  <RowIcon item={item} />
                  <div className="min-w-0">
                    <OpenButton item={item} onOpen={onOpen} />
                    <div className="text-compact text-muted-foreground">
                      <RowNote item={item} />
                    </div>
                  </div>
                </div>
              </TableCell>
              <TableCell>
                <StatusBadge status={shownStatus(item)} />
              </TableCell>
              <TableCell data-align="right" className="font-semibold">
                <MovementAmount item={item} dash />
              </TableCell>
              <TableCell data-align="right">
                <BalanceAfter item={item} />
              </TableCell>
              <TableCell data-print="no" data-align="right">
                <ChevronRight className="inline size-4 text-muted-foreground" aria-hidden />
              </TableCell>
            </TableRow>
          ))}
        </tbody>
      ))}
    </Table>
  )
}

function Cards({ days, onOpen }: DaysProps) {
  return days.map(({ word, date, items, bonuses }) => (
    <section key={date} aria-label={`${word}, ${date}`} className="mt-5 first:mt-0">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 className="text-compact font-semibold">
          <DayName word={word} date={date} />
        </h2>
        <DaySum bonuses={bonuses} />
      </div>
      <ul className="divide-y">
        {items.map((item) => (
          <li key={itemKey(item)} className="relative flex gap-3 py-3">
            <RowIcon item={item} />
            <div className="min-w-0 grow">
              <div className="flex items-baseline justify-between gap-4">
                <OpenButton item={item} onOpen={onOpen} />
                <MovementAmount item={item} dash className="font-semibold" />
              </div>
              <p className="text-compact text-muted-foreground">
                <span className="mr-2.5">
                  <Time item={item} />
                </span>
                <RowNote item={item} />
              </p>
              <div className="mt-1 flex items-end justify-between gap-4">
                <StatusBadge status={shownStatus(item)} />
                <span className="text-right text-compact text-muted-foreground">
                  Balance after <BalanceAfter item={item} />
                </span>
              </div>
            </div>
          </li>
        ))}
      </ul>
    </section>
  ))
}
