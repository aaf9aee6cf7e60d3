import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { ChartCard } from '@/components/chart-card'
import { EmptyState } from '@/components/empty-state'
import { Figure } from '@/components/figure'
import { Money, Percent } from '@/components/money'
import { Notice } from '@/components/notice'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { formatExact, formatUtcDay, zoneName } from '@/lib/dates'
import { formatMoney, formatPercent } from '@/lib/money'
import { paths } from '@/lib/paths'
import { usePlatform } from '@/lib/platform'
import { disclosureQuery, type Disclosure, type PackageResults } from './api'
import { NetLine } from './net-line'

const packageHeads = ['Package', 'Members', 'Received nothing', 'Received less than paid', 'Median, net']

/** "14 Aug 2026 to 22 Nov 2026 (UTC)": one period, whatever the reader's zone. */
function period({ from, to }: Disclosure): string {
  // The period ends at midnight, so its last day is the one before.
  const last = new Date(new Date(to).getTime() - 1)
  return `${formatUtcDay(new Date(from))} to ${formatUtcDay(last)} (UTC)`
}

function PackageRow({ row }: { row: PackageResults }) {
  const name = Number(row.value) > 0 ? `${row.label}, ${formatMoney(row.value)}` : row.label
  return (
    <TableRow>
      <TableCell className="sticky left-0 bg-background font-semibold whitespace-nowrap">{name}</TableCell>
      {row.too_few ? (
        <TableCell colSpan={4} className="text-muted-foreground">
          too few to show
        </TableCell>
      ) : (
        <>
          <TableCell data-align="right">{row.members?.toLocaleString('en-US')}</TableCell>
          <TableCell data-align="right">
            <Percent value={row.received_nothing_percent} />
          </TableCell>
          <TableCell data-align="right">
            <Percent value={row.below_paid_percent} />
          </TableCell>
          <TableCell data-align="right">
            <Money value={row.median_net} signed />
          </TableCell>
        </>
      )}
    </TableRow>
  )
}

function ByPackage({ rows }: { rows: PackageResults[] }) {
  return (
    <section>
      <h2 className="text-section">By package</h2>
      <Table label="By package" className="mt-3">
        <thead>
          <tr>
            {packageHeads.map((head, index) => (
              <TableHead
                key={head}
                data-align={index > 0 ? 'right' : undefined}
                className={index === 0 ? 'sticky left-0 bg-background' : undefined}
              >
                {head}
              </TableHead>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <PackageRow key={row.value} row={row} />
          ))}
        </tbody>
      </Table>
    </section>
  )
}

function NetResult({ disclosure, net }: { disclosure: Disclosure; net: NonNullable<Disclosure['net']> }) {
  const points = [
    { label: '25th percentile', value: net.p25 },
    { label: 'Median', value: net.median },
    { label: '75th percentile', value: net.p75 },
    { label: '90th percentile', value: net.p90 },
    { label: '99th percentile', value: net.p99 },
  ]
  return (
    <ChartCard
      title="Net result of a member"
      summary={
        <>
          {period(disclosure)}. Bonuses received less packages paid; half of all members had{' '}
          <Money value={net.median} signed className="font-semibold text-foreground" /> or less.
        </>
      }
      table={{
        head: ['Place', 'Net of packages'],
        rows: points.map(({ label, value }) => [label, <Money key={label} value={value} signed />]),
      }}
    >
      <NetLine points={points} typical="Median" />
      <dl className="grid gap-x-6 sm:grid-cols-3 lg:grid-cols-5">
        {points.map(({ label, value }) => (
          <div
            key={label}
            className="flex items-baseline justify-between gap-3 border-b py-2 sm:block sm:border-b-0"
          >
            <dt className="text-compact text-muted-foreground">{label}</dt>
            <dd className="font-semibold">
              <Money value={value} signed />
            </dd>
          </div>
        ))}
      </dl>
    </ChartCard>
  )
}

function Report({ disclosure }: { disclosure: Disclosure }) {
  const counted = new Date(disclosure.computed_at)
  const nothing = disclosure.received_nothing.percent
  return (
    <div className="flex flex-col gap-10">
      <div>
        <p className="max-w-[32ch] font-title text-title-phone font-semibold md:text-title">
          In the period from {period(disclosure)}, {nothing === null ? '—' : formatPercent(nothing)} of all
          members received nothing.
        </p>
        <p className="tabular mt-2 text-muted-foreground">
          {disclosure.members.toLocaleString('en-US')} members, including those who received nothing. Updated{' '}
          {formatExact(counted)} {zoneName(counted)}.
        </p>
      </div>
      <div className="grid gap-4 md:grid-cols-3">
        <Figure
          className="card-box"
          label="Received less than they paid"
          value={<Percent value={disclosure.below_paid.percent} />}
          explain={{
            text: 'Members whose bonuses in the period were less than their deposits approved in it. Members who paid nothing are not counted here.',
            formula: `${disclosure.below_paid.members.toLocaleString('en-US')} of ${disclosure.members.toLocaleString('en-US')} members`,
            asOf: disclosure.computed_at,
          }}
          note={`${disclosure.below_paid.members.toLocaleString('en-US')} members`}
        />
        <Figure
          className="card-box"
          label="Credited to members"
          value={<Money value={disclosure.credited} />}
          explain={{
            text: 'All bonuses of all members in the period, whether withdrawn or not.',
            asOf: disclosure.computed_at,
          }}
        />
        <Figure
          className="card-box"
          label="Withdrawn by members"
          value={<Money value={disclosure.withdrawn} />}
          explain={{
            text: 'Withdrawals approved in the period. Some of the bonuses paid out may have been credited earlier.',
            asOf: disclosure.computed_at,
          }}
          note="Approved withdrawals"
        />
      </div>
      {disclosure.net ? <NetResult disclosure={disclosure} net={disclosure.net} /> : null}
      <ByPackage rows={disclosure.packages} />
    </div>
  )
}

function Nothing() {
  return (
    <EmptyState
      drawing="ledger"
      title="Nothing to report yet."
      text="Figures appear here once there are enough members to count. Until then, the plan itself says what is possible and what is not."
      action={
        <Button asChild variant="outline">
          <Link to={paths.payouts}>Where payouts come from</Link>
        </Button>
      }
    />
  )
}

export function IncomePage() {
  const query = useQuery(disclosureQuery)
  const platform = usePlatform()
  return (
    <div className="page-gutter mx-auto flex max-w-[1168px] flex-col gap-8 py-8">
      <PageHead
        title="Income disclosure"
        purpose="What members received, including those who received nothing."
      />
      <Region
        query={query}
        errorText="The disclosure could not be loaded."
        skeleton={
          <div className="flex min-h-dvh flex-col gap-4">
            <Skeleton className="h-9 w-2/3" />
            <Skeleton className="h-28" />
            <Skeleton className="h-56" />
          </div>
        }
        isEmpty={(disclosure) => disclosure === null || disclosure.too_few}
        empty={<Nothing />}
      >
        {(disclosure) =>
          disclosure ? (
            <>
              {platform.data?.demo ? (
                <Notice tone="warning" className="mb-6">
                  Demo data: no real members, no real money.
                </Notice>
              ) : null}
              <Report disclosure={disclosure} />
            </>
          ) : null
        }
      </Region>
    </div>
  )
}
