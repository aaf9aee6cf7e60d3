import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { Link } from 'react-router'
import { EmptyState } from '@/components/empty-state'
import { Money } from '@/components/money'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { Region } from '@/components/region'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { correctionsQuery, type Correction } from '@/lib/corrections'
import { paths } from '@/lib/paths'
import { useMoneyForbidden } from '@/lib/use-admin-role'
import { offlineText, useOnline } from '@/lib/use-online'
import { DecideDialog, type Act } from './decide-dialog'
import { deedOf, kindTitles } from './words'

function Step({ what, who, when }: { what: string; who: string; when: string }) {
  return (
    <p className="text-compact text-muted-foreground">
      {what} by {who} <Timestamp value={when} />
    </p>
  )
}

function Row({ correction, children }: { correction: Correction; children: ReactNode }) {
  return (
    <li className="grid gap-x-6 gap-y-2 border-b py-4 lg:grid-cols-[minmax(0,1fr)_8rem_minmax(0,1.6fr)_minmax(0,1fr)] lg:items-start">
      <div className="min-w-0">
        <p className="font-semibold">{kindTitles[correction.kind]}</p>
        <Link
          to={`${paths.admin.users}?user=${correction.profile_id}`}
          className="text-link inline-flex min-h-6 max-w-full items-center break-all"
        >
          {correction.username}
        </Link>
      </div>
      <Money value={correction.amount ?? correction.value} className="font-semibold lg:text-right" />
      <div className="min-w-0">
        <p className="break-words">{correction.reason}</p>
        {correction.based_on_package && correction.based_on_cash_in ? (
          <p className="text-compact text-muted-foreground">
            Based on a package of <Money value={correction.based_on_package} /> and a cash-in of{' '}
            <Money value={correction.based_on_cash_in} />
          </p>
        ) : null}
        <Step what="Proposed" who={correction.proposed_by_name} when={correction.proposed_at} />
      </div>
      <div className="min-w-0 lg:text-right">{children}</div>
    </li>
  )
}

interface ActsProps {
  correction: Correction
  /** Whether this administrator's role decides about money. */
  decides: boolean
  onAct: (act: Act) => void
}

function Acts({ correction, decides, onAct }: ActsProps) {
  const deed = deedOf(correction)
  const online = useOnline()
  const hindered = { 'aria-disabled': !online, title: online ? undefined : offlineText }
  return (
    <>
      {correction.refusal ? <p className="text-compact text-muted-foreground">{correction.refusal}</p> : null}
      {decides ? (
        <div className="mt-2 flex flex-wrap gap-2 first:mt-0 lg:justify-end">
          <Button
            variant="ghost"
            size="row"
            aria-label={`Discard: ${deed}`}
            {...hindered}
            onClick={() => online && onAct('discard')}
          >
            Discard
          </Button>
          {correction.refusal ? null : (
            <Button
              variant="outline"
              size="row"
              aria-label={`Confirm: ${deed}`}
              {...hindered}
              onClick={() => online && onAct('confirm')}
            >
              Confirm
            </Button>
          )}
        </div>
      ) : null}
    </>
  )
}

/** The dialog stays when the list has become empty: it says what somebody else decided meanwhile. */
function Waiting({ corrections }: { corrections: Correction[] }) {
  const decides = useMoneyForbidden() === null
  const [deciding, setDeciding] = useState<{ act: Act; correction: Correction } | null>(null)
  return (
    <>
      {corrections.length > 0 ? (
        <ul aria-label="Waiting for confirmation" className="border-t">
          {corrections.map((correction) => (
            <Row key={correction.id} correction={correction}>
              <Acts
                correction={correction}
                decides={decides}
                onAct={(act) => setDeciding({ act, correction })}
              />
            </Row>
          ))}
        </ul>
      ) : (
        <EmptyState
          drawing="ledger"
          title="No corrections waiting"
          text="A super administrator proposes one in the details of a deposit, a withdrawal or a user."
        />
      )}
      {deciding ? <DecideDialog {...deciding} onClose={() => setDeciding(null)} /> : null}
    </>
  )
}

function Confirmed({ corrections }: { corrections: Correction[] }) {
  if (corrections.length === 0) return <p className="text-muted-foreground">No corrections yet</p>
  return (
    <ul aria-label="Latest confirmed" className="border-t">
      {corrections.map((correction) => (
        <Row key={correction.id} correction={correction}>
          {correction.confirmed_by_name && correction.confirmed_at ? (
            <Step what="Confirmed" who={correction.confirmed_by_name} when={correction.confirmed_at} />
          ) : null}
        </Row>
      ))}
    </ul>
  )
}

/** What was proposed to be undone, and what was: one administrator proposes, another confirms. */
export function CorrectionsPage() {
  const query = useQuery(correctionsQuery)
  return (
    <>
      <PageHead
        title="Corrections"
        purpose="What a super administrator proposes to undo takes effect when another administrator confirms it."
        actions={<RefreshButton queries={[query]} />}
      />
      <div className="mt-6">
        <Region
          query={query}
          errorText="The corrections did not load."
          loadingText="Loading corrections"
          skeleton={<Skeleton className="h-64 w-full" />}
        >
          {({ waiting, confirmed }) => (
            <div className="flex flex-col gap-8">
              <section aria-labelledby="waiting">
                <h2 id="waiting" className="mb-2 text-section">
                  Waiting for confirmation
                </h2>
                <Waiting corrections={waiting} />
              </section>
              <section aria-labelledby="confirmed">
                <h2 id="confirmed" className="mb-2 text-section">
                  Latest confirmed
                </h2>
                <Confirmed corrections={confirmed} />
              </section>
            </div>
          )}
        </Region>
      </div>
    </>
  )
}
