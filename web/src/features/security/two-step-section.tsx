import { useQuery } from '@tanstack/react-query'
import { ShieldCheck, ShieldOff } from 'lucide-react'
import { useRef, useState } from 'react'
import { ErrorLine } from '@/components/field'
import { Notice } from '@/components/notice'
import { Region } from '@/components/region'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { errorText } from '@/lib/errors'
import { isCancelled } from '@/lib/proof'
import { toasts } from '@/lib/toast-queue'
import { devicesQuery, useRemove, type Device } from './api'
import { EnrollDevice } from './enroll-device'

/** The member's authenticators: add, list, remove. */
export function TwoStepSection() {
  const query = useQuery(devicesQuery)
  return (
    <Region
      query={query}
      errorText="Your devices did not load."
      loadingText="Loading devices"
      skeleton={<Skeleton className="h-28 w-full" />}
    >
      {(devices) => <Devices devices={devices} />}
    </Region>
  )
}

function Devices({ devices }: { devices: Device[] }) {
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<string | null>(null)
  const on = devices.length > 0
  const group = useRef<HTMLDivElement>(null)
  // What was pressed makes way for what comes next.
  const focusGroup = () => group.current?.focus()

  function endRemoval() {
    setRemoving(null)
    focusGroup()
  }

  function showForm(shown: boolean) {
    setAdding(shown)
    focusGroup()
  }

  return (
    <div
      ref={group}
      role="group"
      aria-label="Devices"
      tabIndex={-1}
      data-quiet-focus
      className="flex flex-col gap-4"
    >
      <p className="flex items-start gap-2.5">
        {on ? (
          <ShieldCheck className="mt-0.5 size-5 stroke-[1.75] text-positive" aria-hidden />
        ) : (
          <ShieldOff className="mt-0.5 size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
        )}
        {on
          ? 'On. Signing in needs your password and a code from one of these devices.'
          : 'Off. With it, signing in needs your password and a code from your phone.'}
      </p>
      {on ? (
        <ul className="divide-y border-y">
          {devices.map((device) => (
            <li key={device.id} className="py-3">
              <div className="flex flex-wrap items-center justify-between gap-3">
                <span className="min-w-0">
                  <span className="block font-semibold">{device.name}</span>
                  <span className="text-compact text-muted-foreground">
                    Added <Timestamp value={device.created_at} />
                  </span>
                </span>
                <Button
                  variant="outline"
                  size="compact"
                  aria-label={`Remove ${device.name}`}
                  aria-expanded={removing === device.id}
                  onClick={() => setRemoving(removing === device.id ? null : device.id)}
                >
                  Remove
                </Button>
              </div>
              {removing === device.id ? <RemoveDevice device={device} onDone={endRemoval} /> : null}
            </li>
          ))}
        </ul>
      ) : null}
      {devices.length === 1 ? (
        <Notice tone="warning">Add a second device: there are no recovery codes.</Notice>
      ) : null}
      {adding ? (
        <EnrollDevice
          taken={devices.map((device) => device.name)}
          onNamed={focusGroup}
          onDone={() => showForm(false)}
        />
      ) : (
        <Button variant="outline" className="self-start" onClick={() => showForm(true)}>
          {on ? 'Add another device' : 'Set up two-step sign-in'}
        </Button>
      )}
    </div>
  )
}

function RemoveDevice({ device, onDone }: { device: Device; onDone: () => void }) {
  const remove = useRemove()
  const [problem, setProblem] = useState<string | null>(null)

  async function run() {
    setProblem(null)
    try {
      await remove.mutateAsync(device.id)
      toasts.success('Device removed')
      onDone()
    } catch (error) {
      if (isCancelled(error)) return
      setProblem(errorText(error, 'The device could not be removed. Please try again.'))
    }
  }

  return (
    <div className="mt-3 flex flex-col gap-3">
      <p className="text-compact text-muted-foreground">
        For 24 hours after that withdrawals can be requested, but are not approved.
      </p>
      <div role="alert" className="empty:hidden">
        {problem ? <ErrorLine>{problem}</ErrorLine> : null}
      </div>
      <div className="flex flex-wrap gap-3">
        <Button variant="destructive" busy={remove.isPending && 'Removing...'} onClick={() => void run()}>
          Remove device
        </Button>
        <Button variant="outline" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </div>
  )
}
