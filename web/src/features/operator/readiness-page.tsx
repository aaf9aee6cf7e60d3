import { useQuery } from '@tanstack/react-query'
import { CircleAlert, CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { formatExact } from '@/lib/dates'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { jobsQuery, readinessQuery, settingsQuery, useOperatorAct, type Readiness, type Setting } from './api'
import { JobsSection } from './jobs-section'
import { LeaveDemo } from './leave-demo'
import { SettingDialog } from './setting-dialog'
import { SettingsList } from './settings-list'

const names: Record<string, string> = {
  operator: 'Operator',
  support: 'Support email',
  https: 'HTTPS',
  deposit_address: 'Deposit address',
  wallets: 'Wallet addresses',
  terms: 'Terms of use',
  risk: 'Risk notice',
  countries: 'Countries',
  mail_server: 'Mail server',
  mail: 'Outgoing email',
  two_step: 'Two-step sign-in',
  backup: 'Backups',
  never_seeded: 'No sample data',
  no_money: 'No money from demo mode',
}

/** The test mail: sent on one press, confirmed on the other once it arrived. */
function MailActs() {
  const act = useOperatorAct()
  async function run(action: 'send_test_mail' | 'confirm_test_mail', done: string) {
    try {
      await act.mutateAsync({ action })
      toasts.success(done)
    } catch (error) {
      toasts.error('Error', { description: errorText(error, 'That did not work. Please try again.') })
    }
  }
  return (
    <span className="mt-2 flex flex-wrap gap-2">
      <Button variant="outline" size="compact" onClick={() => void run('send_test_mail', 'Test email sent')}>
        Send a test email
      </Button>
      <Button
        variant="outline"
        size="compact"
        onClick={() => void run('confirm_test_mail', 'Outgoing email confirmed')}
      >
        It arrived
      </Button>
    </span>
  )
}

/** The settings that an item is made of; the others are done by what their sentence says. */
const settingsOf: Record<string, string[]> = {
  operator: ['operator.name', 'operator.address'],
  support: ['support.email'],
  deposit_address: ['deposit.address'],
  terms: ['terms.text', 'terms.version'],
  risk: ['risk.text', 'risk.version'],
  countries: ['operator.countries'],
  wallets: ['wallet.strict'],
}

function SettingActs({ item, settings }: { item: string; settings: Setting[] }) {
  const [changing, setChanging] = useState<Setting | null>(null)
  const own = settings.filter(({ key }) => settingsOf[item]?.includes(key))
  if (own.length === 0) return null
  return (
    <span className="mt-2 flex flex-wrap gap-2">
      {own.map((setting) => (
        <Button
          key={setting.key}
          variant="outline"
          size="compact"
          className="h-auto max-w-full shrink py-1 text-left whitespace-normal"
          onClick={() => setChanging(setting)}
        >
          {setting.description}
        </Button>
      ))}
      {changing ? <SettingDialog setting={changing} onClose={() => setChanging(null)} /> : null}
    </span>
  )
}

function Items({ readiness, settings }: { readiness: Readiness; settings: Setting[] }) {
  const missing = readiness.items.filter((item) => !item.ok).length
  return (
    <section aria-labelledby="items" className="card-box">
      <h2 id="items" className="text-section">
        {!readiness.demo
          ? 'Real money is accepted'
          : missing === 0
            ? 'Demo: nothing is missing'
            : `Demo: ${missing} of ${readiness.items.length} items missing`}
      </h2>
      <ul className="mt-4 border-t">
        {readiness.items.map(({ item, ok, missing: todo, confirmed_by: by, confirmed_at: at }) => (
          <li key={item} className="flex items-start gap-3 border-b py-3">
            {ok ? (
              <CircleCheck className="mt-0.5 size-5 stroke-[1.75] text-positive" aria-label="Done" />
            ) : (
              <CircleAlert className="mt-0.5 size-5 stroke-[1.75] text-warning" aria-label="Missing" />
            )}
            <div className="min-w-0">
              <p className="font-semibold">{names[item] ?? item}</p>
              {todo ? <p className="text-muted-foreground">{todo}</p> : null}
              {by && at ? (
                <p className="text-muted-foreground">
                  Confirmed by {by}, {formatExact(new Date(at))}
                </p>
              ) : null}
              {item === 'mail' && !ok ? <MailActs /> : null}
              {ok ? null : <SettingActs item={item} settings={settings} />}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** What is missing before real money is accepted, and the values that say so. */
export function ReadinessPage() {
  const readiness = useQuery(readinessQuery)
  const settings = useQuery(settingsQuery)
  const jobs = useQuery(jobsQuery)
  const [leaving, setLeaving] = useState(false)
  const state = readiness.data
  return (
    <>
      <PageHead
        title="Readiness"
        purpose="What is missing before real money is accepted."
        actions={<RefreshButton queries={[readiness, jobs, settings]} />}
      />
      <div className="mt-6 flex flex-col gap-6">
        <Region
          query={readiness}
          errorText="The readiness list did not load."
          loadingText="Loading the readiness list"
          skeleton={<Skeleton className="h-96 rounded-card" />}
        >
          {(data) => <Items readiness={data} settings={settings.data ?? []} />}
        </Region>
        {state?.demo ? (
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
            <Button
              aria-disabled={!state.ready}
              aria-describedby={state.ready ? undefined : 'not-ready'}
              onClick={() => setLeaving(true)}
            >
              Accept real money
            </Button>
            {state.ready ? null : (
              <p id="not-ready" className="text-muted-foreground">
                Everything above has to be done first.
              </p>
            )}
          </div>
        ) : null}
        <JobsSection />
        <Region
          query={settings}
          errorText="The settings did not load."
          loadingText="Loading settings"
          skeleton={<Skeleton className="h-96 w-full" />}
        >
          {(rows) => <SettingsList settings={rows} />}
        </Region>
      </div>
      {leaving ? <LeaveDemo onClose={() => setLeaving(false)} /> : null}
    </>
  )
}
