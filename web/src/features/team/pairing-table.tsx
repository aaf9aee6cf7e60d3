import { useInfiniteQuery } from '@tanstack/react-query'
import { Info } from 'lucide-react'
import { ClippedName } from '@/components/clipped-name'
import { EmptyState } from '@/components/empty-state'
import { Money, Percent } from '@/components/money'
import { Region } from '@/components/region'
import { Badge } from '@/components/status-badge'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { clipName } from '@/lib/clip-name'
import { useMedia } from '@/lib/use-media'
import { pairingsQuery, type PairChild, type Pairing, type PairingPage } from './api'
import { nameOf } from './names'

/** Pairs in order, each with its state; totals of the paying ones come from the server. */
export default function PairingTable() {
  const query = useInfiniteQuery(pairingsQuery)
  const wide = useMedia('(min-width: 48rem)')
  return (
    <Region
      query={query}
      errorText="Failed to load MLM data"
      loadingText="Loading pairs"
      skeleton={<Skeleton className="h-80 w-full rounded-card" />}
      isEmpty={(data) => data.pages[0]?.pairs === 0}
      empty={
        <EmptyState
          drawing="bollards"
          title="No Pairs Yet"
          text="Your direct referrals form pairs in the order they joined: the 1st with the 2nd, the 3rd with the 4th. A pair pays once both have a funded package."
        />
      }
    >
      {(data) => {
        const pairs = data.pages.flatMap((page) => page.items)
        const latest = data.pages.at(-1)
        return (
          <>
            <div className="card-box">
              {wide ? (
                <Pairs pairs={pairs} totals={latest?.totals} />
              ) : (
                <Cards pairs={pairs} totals={latest?.totals} />
              )}
              {query.hasNextPage ? (
                <Button
                  variant="outline"
                  className="mt-4"
                  busy={query.isFetchingNextPage && 'Loading'}
                  onClick={() => void query.fetchNextPage()}
                >
                  Show 50 more of {latest?.pairs ?? 0}
                </Button>
              ) : null}
            </div>
            <WaitingNote pairs={pairs} />
          </>
        )
      }}
    </Region>
  )
}

/** The first of a pair who has not funded a package. */
function blockerOf({ left_child: left, right_child: right }: Pairing): PairChild | undefined {
  return [left, right].find((child) => child !== null && !child.funded) ?? undefined
}

function StateBadge({ pair }: { pair: Pairing }) {
  const { state, state_text: text } = pair
  const tone = state === 'paying' ? 'positive' : state === 'blocked' ? 'warning' : 'outline'
  const blocker = blockerOf(pair)
  const name = blocker ? nameOf(blocker) : ''
  return (
    <span title={text} className="lg:whitespace-nowrap">
      <Badge tone={tone}>{text.replace(name, clipName(name, 14))}</Badge>
    </span>
  )
}

function Child({ child }: { child: PairChild | null }) {
  if (!child) return <span className="text-muted-foreground">Nobody yet</span>
  return (
    <span className="inline-flex flex-wrap items-baseline gap-x-2">
      <ClippedName name={nameOf(child)} className="max-w-[17ch] font-semibold" />
      <Money value={child.package_value} className="text-muted-foreground" />
    </span>
  )
}

interface PairsProps {
  pairs: Pairing[]
  totals: PairingPage['totals'] | undefined
}

function Pairs({ pairs, totals }: PairsProps) {
  return (
    <Table>
      <thead>
        <tr>
          <TableHead>Pair</TableHead>
          <TableHead>Left child</TableHead>
          <TableHead>Right child</TableHead>
          <TableHead data-align="right" className="whitespace-nowrap">
            Pair volume
          </TableHead>
          <TableHead data-align="right">Rate</TableHead>
          <TableHead data-align="right" className="whitespace-nowrap">
            Your bonus
          </TableHead>
          <TableHead className="pl-6">State</TableHead>
        </tr>
      </thead>
      <tbody>
        {pairs.map((pair) => (
          <TableRow key={pair.pair_number}>
            <TableCell className="tabular font-semibold">{pair.pair_number}</TableCell>
            <TableCell>
              <Child child={pair.left_child} />
            </TableCell>
            <TableCell>
              <Child child={pair.right_child} />
            </TableCell>
            <TableCell data-align="right">
              <Money value={pair.pair_volume} />
            </TableCell>
            <TableCell data-align="right" className="text-muted-foreground">
              <Percent value={pair.rate} />
            </TableCell>
            <TableCell data-align="right" className="font-semibold">
              <Money value={pair.user_bonus} />
            </TableCell>
            <TableCell className="pl-6">
              <StateBadge pair={pair} />
            </TableCell>
          </TableRow>
        ))}
      </tbody>
      <tfoot>
        <tr className="border-t font-semibold">
          <TableCell colSpan={3}>Total of paying pairs</TableCell>
          <TableCell data-align="right">
            <Money value={totals?.total_volume} />
          </TableCell>
          <TableCell />
          <TableCell data-align="right">
            <Money value={totals?.total_user_bonus} />
          </TableCell>
          <TableCell />
        </tr>
      </tfoot>
    </Table>
  )
}

function Cards({ pairs, totals }: PairsProps) {
  return (
    <ul className="divide-y">
      {pairs.map((pair) => (
        <li key={pair.pair_number} className="flex flex-col gap-1.5 py-3 first:pt-0">
          <div className="flex items-center justify-between gap-4 font-semibold">
            <span>Pair {pair.pair_number}</span>
            <Money value={pair.user_bonus} />
          </div>
          <span>
            <Child child={pair.left_child} />
          </span>
          <span>
            <Child child={pair.right_child} />
          </span>
          <div className="flex flex-wrap items-center justify-between gap-2 text-compact text-muted-foreground">
            <span>
              Volume <Money value={pair.pair_volume} />, rate <Percent value={pair.rate} />
            </span>
            <StateBadge pair={pair} />
          </div>
        </li>
      ))}
      <li className="flex justify-between gap-4 pt-3 font-semibold">
        <span>
          Total of paying pairs
          <span className="block text-compact font-normal text-muted-foreground">
            Volume <Money value={totals?.total_volume} />
          </span>
        </span>
        <Money value={totals?.total_user_bonus} />
      </li>
    </ul>
  )
}

/** Why the first waiting pair waits, in words. */
function WaitingNote({ pairs }: { pairs: Pairing[] }) {
  const waiting = pairs.find((pair) => pair.state === 'blocked')
  const blocker = waiting && blockerOf(waiting)
  if (!blocker) return null
  const name = nameOf(blocker)
  return (
    <p className="mt-3 flex max-w-none items-start gap-2 text-compact text-muted-foreground">
      <Info className="mt-0.5 size-4" aria-hidden />
      Pair {waiting.pair_number} is waiting: {name} has not funded a package. Positions never change, so the
      pair counts once {name} does.
    </p>
  )
}
