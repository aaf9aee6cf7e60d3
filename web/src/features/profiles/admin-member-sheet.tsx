import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { Address } from '@/components/address'
import { CorrectionAct } from '@/components/correction-act'
import { Money } from '@/components/money'
import { Notice } from '@/components/notice'
import { ProposeDialog } from '@/components/propose-dialog'
import { Region } from '@/components/region'
import { Facts, type Fact } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Sheet, SheetContent } from '@/components/ui/sheet'
import { Skeleton } from '@/components/ui/skeleton'
import { paths } from '@/lib/paths'
import { useAdminRole } from '@/lib/use-admin-role'
import { memberDetailsQuery, type AccountStatus, type MemberDetails } from './admin-api'
import { PackageStatus, Verified } from './admin-columns'
import { FactorsDialog } from './admin-factors-dialog'
import { NotesForm } from './admin-notes-form'
import { PackageDialog } from './admin-package-dialog'
import { StatusDialog } from './admin-status-dialog'

function accountFacts(member: MemberDetails): Fact[] {
  return [
    { label: 'Username', value: member.username },
    { label: 'Display name', value: member.display_name ?? 'None' },
    { label: 'Email', value: <span className="no-kerning">{member.email ?? 'N/A'}</span> },
    {
      label: 'Referral code',
      value: <Address value={member.id} short what="referral code" copy />,
    },
    {
      label: 'Sponsor',
      value: member.sponsor ? (
        <Link className="text-link" to={`${paths.admin.users}?user=${member.sponsor.id}`}>
          {member.sponsor.username}
        </Link>
      ) : (
        'None (top of the network)'
      ),
    },
    { label: 'Package value', value: <Money value={member.package_value} /> },
    { label: 'Package status', value: <PackageStatus approved={member.package_approved} /> },
    { label: 'Account status', value: <StatusBadge status={member.account_status} /> },
    { label: 'Cash in amount', value: <Money value={member.cash_in_amount} /> },
    { label: 'Available', value: <Money value={member.available_balance} /> },
    {
      label: 'TRC20 wallet',
      value: member.trc20_wallet_address ? (
        <Address value={member.trc20_wallet_address} check={member.wallet_checksum_ok} copy />
      ) : (
        'Not set'
      ),
    },
    { label: 'Verified', value: <Verified verified={member.account_verified} /> },
    { label: 'Joined', value: <Timestamp value={member.created_at} exact /> },
  ]
}

function Statistics({ member }: { member: MemberDetails }) {
  const { statistics } = member
  return (
    <>
      <Facts
        facts={[
          { label: 'Total bonuses', value: <Money value={statistics.total_bonuses} /> },
          { label: 'Total deposits', value: <Money value={statistics.total_deposits} /> },
          { label: 'Total withdrawals', value: <Money value={statistics.total_withdrawals} /> },
          { label: 'Direct referrals', value: statistics.direct_referrals.toLocaleString('en-US') },
          {
            label: 'Net balance',
            value: <Money value={statistics.net_balance} className="font-semibold" />,
          },
        ]}
      />
      <p className="tabular mt-2 text-compact text-muted-foreground">
        Net balance = deposits − withdrawals + bonuses = <Money value={statistics.total_deposits} /> −{' '}
        <Money value={statistics.total_withdrawals} /> + <Money value={statistics.total_bonuses} />
      </p>
    </>
  )
}

/** The lists of everything else about this member, each narrowed to the username. */
function Elsewhere({ username }: { username: string }) {
  const search = new URLSearchParams({ q: username })
  const every = new URLSearchParams({ q: username, status: 'all' })
  const links = [
    { label: 'Deposits', to: `${paths.admin.deposits}?${every}` },
    { label: 'Withdrawals', to: `${paths.admin.withdrawals}?${every}` },
    { label: 'Transactions', to: `${paths.admin.transactions}?${search}` },
    { label: 'Bots', to: `${paths.admin.bots}?${search}` },
  ]
  return (
    <nav aria-label={`More about ${username}`} className="mt-6 flex flex-wrap gap-x-5 gap-y-2">
      {links.map(({ label, to }) => (
        <Link key={label} to={to} className="inline-flex min-h-6 items-center font-semibold text-primary">
          {label}
        </Link>
      ))}
    </nav>
  )
}

function Details({ member }: { member: MemberDetails }) {
  return (
    <>
      {member.hold_until ? (
        <Notice tone="warning" className="mb-4">
          A security change holds withdrawals until <Timestamp value={member.hold_until} exact />.
        </Notice>
      ) : null}
      <h3 className="mb-2 text-section">Account</h3>
      <Facts facts={accountFacts(member)} />
      <h3 className="mt-6 mb-2 text-section">Statistics</h3>
      <Statistics member={member} />
      <Elsewhere username={member.username} />
      <h3 className="mt-6 mb-2 text-section">Admin notes</h3>
      <NotesForm key={member.id} member={member} />
    </>
  )
}

/** What the open account may be turned into, and by whom. */
function statusChoices(status: AccountStatus, role: string): { to: AccountStatus; label: string }[] {
  const all: { to: AccountStatus; label: string; superOnly?: true }[] =
    status === 'active'
      ? [
          { to: 'suspended', label: 'Suspend' },
          { to: 'pending', label: 'Set pending', superOnly: true },
          { to: 'disabled', label: 'Disable', superOnly: true },
        ]
      : status === 'disabled'
        ? [{ to: 'active', label: 'Reactivate', superOnly: true }]
        : [
            { to: 'active', label: 'Reactivate' },
            { to: 'disabled', label: 'Disable', superOnly: true },
          ]
  return all.filter((choice) => !choice.superOnly || role === 'super_admin')
}

/** One member: account, figures, notes, and what can be changed. */
export function MemberSheet({ profileId, onClose }: { profileId: string; onClose: () => void }) {
  const query = useQuery(memberDetailsQuery(profileId))
  const role = useAdminRole()
  const [target, setTarget] = useState<AccountStatus | null>(null)
  const [removing, setRemoving] = useState(false)
  const member = query.data
  return (
    <Sheet open onOpenChange={(open) => !open && onClose()}>
      <SheetContent
        side="right"
        title={member ? member.username : 'Member'}
        footer={
          member ? (
            <>
              {role === 'super_admin' ? (
                <Button variant="outline" onClick={() => setRemoving(true)}>
                  Remove second step
                </Button>
              ) : null}
              <CorrectionAct
                kind="set_package"
                targetId={member.id}
                label="Set the package"
                dialog={(onClose) => <PackageDialog member={member} onClose={onClose} />}
              />
              <CorrectionAct
                kind="repair_rows"
                targetId={member.id}
                label="Repair rows"
                dialog={(onClose) => (
                  <ProposeDialog
                    kind="repair_rows"
                    targetId={member.id}
                    userId={member.user_id}
                    title={`Repair the rows of ${member.username}?`}
                    facts={[{ label: 'Member', value: member.display_name ?? member.username }]}
                    onClose={onClose}
                  />
                )}
              />
              {statusChoices(member.account_status, role).map(({ to, label }) => (
                <Button key={to} variant="outline" onClick={() => setTarget(to)}>
                  {label}
                </Button>
              ))}
            </>
          ) : null
        }
      >
        <Region
          query={query}
          errorText="Failed to load users"
          loadingText="Loading the member"
          skeleton={<Skeleton className="h-96 w-full" />}
        >
          {(data) => <Details member={data} />}
        </Region>
        {member && target ? (
          <StatusDialog member={member} target={target} onClose={() => setTarget(null)} />
        ) : null}
        {member && removing ? <FactorsDialog member={member} onClose={() => setRemoving(false)} /> : null}
      </SheetContent>
    </Sheet>
  )
}
