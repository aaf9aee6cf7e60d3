import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { EmptyState } from '@/components/empty-state'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { useAdminRole } from '@/lib/use-admin-role'
import { AcknowledgeDialog } from './acknowledge-dialog'
import { AlarmRow } from './alarm-row'
import { alarmsQuery, type Alarm, type Alarms } from './api'
import { RebuildCounters } from './rebuild-counters'
import { RestoreDialog } from './restore-dialog'

const most = 500
const step = 25

interface ListProps {
  label: string
  alarms: Alarms
  onMore: () => void
  onAcknowledge?: (alarm: Alarm) => void
  onRestore?: (alarm: Alarm) => void
}

function AlarmList({ label, alarms, onMore, onAcknowledge, onRestore }: ListProps) {
  const { items, total } = alarms
  return (
    <>
      <ul aria-label={label} className="border-t">
        {items.map((alarm) => (
          <AlarmRow
            key={alarm.id}
            alarm={alarm}
            onAcknowledge={onAcknowledge && (() => onAcknowledge(alarm))}
            onRestore={onRestore && (() => onRestore(alarm))}
          />
        ))}
      </ul>
      {items.length < total ? (
        <p className="mt-3 flex flex-wrap items-center gap-x-4 gap-y-2 text-muted-foreground">
          {items.length.toLocaleString('en-US')} of {total.toLocaleString('en-US')}
          {items.length < most ? (
            <Button variant="outline" size="compact" onClick={onMore}>
              Show more
            </Button>
          ) : null}
        </p>
      ) : null}
    </>
  )
}

/** What is wrong now, in words, with what it stops; and what was. */
export function AlarmsPage() {
  const [openSize, setOpenSize] = useState(100)
  const [endedSize, setEndedSize] = useState(step)
  const open = useQuery(alarmsQuery('open', openSize))
  const ended = useQuery(alarmsQuery('ended', endedSize))
  const [acknowledging, setAcknowledging] = useState<Alarm | null>(null)
  const [restoring, setRestoring] = useState<Alarm | null>(null)
  const isSuper = useAdminRole() === 'super_admin'
  return (
    <>
      <PageHead
        title="Alarms"
        purpose="What is wrong and what it blocks. A super administrator acknowledges an alarm once it is understood."
        actions={
          <>
            {isSuper ? <RebuildCounters /> : null}
            <RefreshButton queries={[open, ended]} />
          </>
        }
      />
      <div className="mt-6 flex flex-col gap-8">
        <section aria-labelledby="open">
          <h2 id="open" className="mb-2 text-section">
            Open
          </h2>
          <Region
            query={open}
            errorText="The alarms did not load."
            loadingText="Loading alarms"
            skeleton={<Skeleton className="h-64 w-full" />}
            isEmpty={({ items }) => items.length === 0}
            empty={
              <EmptyState
                drawing="mooring"
                title="No alarm is open"
                text="The ledger is checked every minute. What is found appears here and is emailed to finance and super administrators."
              />
            }
          >
            {(alarms) => (
              <AlarmList
                label="Open alarms"
                alarms={alarms}
                onMore={() => setOpenSize((size) => Math.min(size + 100, most))}
                onAcknowledge={isSuper ? setAcknowledging : undefined}
                onRestore={isSuper ? setRestoring : undefined}
              />
            )}
          </Region>
        </section>
        <section aria-labelledby="ended">
          <h2 id="ended" className="mb-2 text-section">
            Over
          </h2>
          <Region
            query={ended}
            errorText="The history did not load."
            loadingText="Loading the history"
            skeleton={<Skeleton className="h-32 w-full" />}
            isEmpty={({ items }) => items.length === 0}
            empty={<p className="text-muted-foreground">No alarm was raised before.</p>}
          >
            {(alarms) => (
              <AlarmList
                label="Alarms that are over"
                alarms={alarms}
                onMore={() => setEndedSize((size) => Math.min(size + step, most))}
              />
            )}
          </Region>
        </section>
      </div>
      {acknowledging ? (
        <AcknowledgeDialog alarm={acknowledging} onClose={() => setAcknowledging(null)} />
      ) : null}
      {restoring ? <RestoreDialog alarm={restoring} onClose={() => setRestoring(null)} /> : null}
    </>
  )
}
