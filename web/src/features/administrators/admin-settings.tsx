import { useQuery } from '@tanstack/react-query'
import { ShieldCheck } from 'lucide-react'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Facts } from '@/components/review-dialog'
import { SettingsSection } from '@/components/settings-section'
import { Badge, StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Skeleton } from '@/components/ui/skeleton'
import { administratorSession, type Administrator } from '@/lib/administrator-session'
import { deviceName } from '@/lib/device-name'
import { useStore } from '@/lib/store'
import { ownSignInsQuery } from './api'
import { PasswordForm } from './password-form'
import { roleWord } from './roles'
import { TwoStep } from './two-step'

function Profile({ admin }: { admin: Administrator }) {
  return (
    <Facts
      facts={[
        { label: 'Full name', value: admin.full_name ?? 'Not set' },
        { label: 'Email', value: <span className="no-kerning">{admin.email}</span> },
        { label: 'Role', value: <Badge icon={ShieldCheck}>{roleWord(admin.role)}</Badge> },
        {
          label: 'Account status',
          value: (
            <StatusBadge
              status={admin.is_active ? 'active' : 'disabled'}
              label={admin.is_active ? 'Active' : 'Inactive'}
            />
          ),
        },
        {
          label: 'Last login',
          value: admin.last_login ? <Timestamp value={admin.last_login} exact /> : 'Never',
        },
        { label: 'Account created', value: <Timestamp value={admin.created_at} exact /> },
      ]}
    />
  )
}

function SignIns({ admin }: { admin: Administrator }) {
  const query = useQuery(ownSignInsQuery(admin.id))
  return (
    <Region
      query={query}
      errorText="Your sign-ins did not load."
      loadingText="Loading your sign-ins"
      skeleton={<Skeleton className="h-32 w-full" />}
      isEmpty={(entries) => entries.length === 0}
      empty={<p className="text-muted-foreground">No sign-in recorded yet.</p>}
    >
      {(entries) => (
        <ul className="divide-y border-y">
          {entries.map((entry) => (
            <li key={entry.seq} className="flex flex-wrap justify-between gap-x-4 py-2.5">
              <Timestamp value={entry.at} exact />
              <span className="text-compact text-muted-foreground">
                {entry.payload?.user_agent ? `${deviceName(entry.payload.user_agent)}, ` : null}
                <span className="font-mono break-all">{entry.payload?.address}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Region>
  )
}

/** The account that is signed in: who it is, its password, its second step, when it signed in. */
export function AdminSettings() {
  const session = useStore(administratorSession)
  if (!session) return null
  const { admin } = session
  return (
    <>
      <PageHead title="Admin Settings" purpose="Your account, and how it is kept safe." />
      <div className="mt-6 flex w-full max-w-[560px] flex-col gap-10">
        <SettingsSection id="profile" title="Profile">
          <Profile admin={admin} />
        </SettingsSection>
        <SettingsSection id="password" title="Password">
          <PasswordForm admin={admin} />
        </SettingsSection>
        <SettingsSection id="two-step" title="Two-step sign-in">
          <TwoStep admin={admin} />
        </SettingsSection>
        <SettingsSection id="sign-ins" title="Your latest sign-ins">
          <SignIns admin={admin} />
        </SettingsSection>
        <SettingsSection id="guidance" title="Security guidance">
          <ul className="list-disc space-y-1 pl-5">
            <li>Use a strong, unique password.</li>
            <li>Do not reuse previous ones.</li>
          </ul>
        </SettingsSection>
      </div>
    </>
  )
}
