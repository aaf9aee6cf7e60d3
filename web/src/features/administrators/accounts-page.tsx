import { useQuery } from '@tanstack/react-query'
import { Plus, ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Badge, StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { administratorSession } from '@/lib/administrator-session'
import { useStore } from '@/lib/store'
import { AccountActs } from './account-acts'
import { AccountSessions } from './account-sessions'
import { accountsQuery, type Account } from './api'
import { NewAccountDialog } from './new-account-dialog'
import { PasswordOnce } from './password-once'
import { roleWord } from './roles'

interface AccountsProps {
  accounts: Account[]
  onPassword: (email: string, password: string) => void
}

function Accounts({ accounts, onPassword }: AccountsProps) {
  const own = useStore(administratorSession)?.admin.id
  return (
    <ul aria-label="Administrators" className="border-t">
      {accounts.map((account) => (
        <li
          key={account.id}
          className="flex flex-wrap items-center gap-x-6 gap-y-2 border-b py-3 lg:grid lg:grid-cols-[minmax(0,2fr)_8rem_7rem_7rem_minmax(0,1.3fr)_6rem_5rem]"
        >
          <div className="min-w-0 max-lg:basis-full">
            <p className="font-semibold">{account.full_name ?? 'Not set'}</p>
            <p className="no-kerning text-compact break-words text-muted-foreground">{account.email}</p>
          </div>
          <span>
            <Badge icon={ShieldCheck}>{roleWord(account.role)}</Badge>
          </span>
          <span>
            <StatusBadge
              status={account.is_active ? 'active' : 'disabled'}
              label={account.is_active ? 'Active' : 'Inactive'}
            />
          </span>
          <span>Two-step {account.two_step ? 'on' : 'off'}</span>
          <span>
            {account.last_login ? (
              <>
                Last login <Timestamp value={account.last_login} />
              </>
            ) : (
              'Never signed in'
            )}
          </span>
          <AccountSessions account={account} />
          <span className="max-lg:ml-auto lg:text-right">
            {account.id === own ? 'You' : <AccountActs account={account} onPassword={onPassword} />}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Who may sign in to the administrators' side; for super administrators. */
export function AccountsPage() {
  const query = useQuery(accountsQuery)
  const [creating, setCreating] = useState(false)
  const [made, setMade] = useState<{ email: string; password: string } | null>(null)
  return (
    <>
      <PageHead
        title="Administrators"
        purpose="People who can sign in here, and their roles."
        actions={
          <Button onClick={() => setCreating(true)}>
            <Plus aria-hidden />
            New administrator
          </Button>
        }
      />
      <div className="mt-6 flex flex-col gap-6">
        {made ? <PasswordOnce {...made} /> : null}
        <Region
          query={query}
          errorText="The administrators did not load."
          loadingText="Loading administrators"
          skeleton={<Skeleton className="h-64 w-full" />}
        >
          {(accounts) => (
            <Accounts accounts={accounts} onPassword={(email, password) => setMade({ email, password })} />
          )}
        </Region>
      </div>
      {creating ? (
        <NewAccountDialog
          onClose={() => setCreating(false)}
          onCreated={(email, password) => {
            setCreating(false)
            setMade({ email, password })
          }}
        />
      ) : null}
    </>
  )
}
