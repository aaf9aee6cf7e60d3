import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { administratorSession } from '@/lib/administrator-session'
import { useStore } from '@/lib/store'
import { AccountActs } from './account-acts'
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
    <Table>
      <caption className="sr-only">Administrators</caption>
      <thead>
        <tr>
          <TableHead>Administrator</TableHead>
          <TableHead>Role</TableHead>
          <TableHead>Status</TableHead>
          <TableHead>Two-step</TableHead>
          <TableHead>Last login</TableHead>
          <TableHead data-align="right">Sessions</TableHead>
          <TableHead data-align="right">Actions</TableHead>
        </tr>
      </thead>
      <tbody>
        {accounts.map((account) => (
          <TableRow key={account.id}>
            <TableCell>
              <span className="block font-semibold">{account.full_name ?? 'Not set'}</span>
              <span className="text-compact text-muted-foreground">{account.email}</span>
            </TableCell>
            <TableCell className="whitespace-nowrap">{roleWord(account.role)}</TableCell>
            <TableCell>
              <StatusBadge
                status={account.is_active ? 'active' : 'disabled'}
                label={account.is_active ? 'Active' : 'Inactive'}
              />
            </TableCell>
            <TableCell>{account.two_step ? 'On' : 'Off'}</TableCell>
            <TableCell>
              {account.last_login ? <Timestamp value={account.last_login} exact /> : 'Never'}
            </TableCell>
            <TableCell data-align="right">{account.sessions}</TableCell>
            <TableCell data-align="right">
              {account.id === own ? 'You' : <AccountActs account={account} onPassword={onPassword} />}
            </TableCell>
          </TableRow>
        ))}
      </tbody>
    </Table>
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
        purpose="Who may sign in here, and with which role."
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
