import { useMemo } from 'react'
import { DataTable } from '@/components/data-table/data-table'
import { useTableState } from '@/components/data-table/table-state'
import type { TableFilter } from '@/components/data-table/types'
import { useAdminList } from '@/components/data-table/use-admin-list'
import { EmptyState } from '@/components/empty-state'
import { Figure } from '@/components/figure'
import { FigureRow, FigureRowSkeleton } from '@/components/figure-row'
import { Money } from '@/components/money'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { builtInPlatform, usePlatform, type Package } from '@/lib/platform'
import { put, useAddress } from '@/lib/use-address'
import { listMembers, type MemberCards } from './admin-api'
import { memberColumns } from './admin-columns'
import { MemberSheet } from './admin-member-sheet'

function packageFilter(packages: Package[]): TableFilter {
  return {
    key: 'package',
    label: 'Package',
    options: [
      { value: 'all', label: 'All Packages' },
      { value: '0', label: 'No package' },
      ...packages.map(({ value }) => {
        const size = value.replace(/\.00$/, '')
        return { value: size, label: `$${size}` }
      }),
    ],
  }
}

const otherFilters: TableFilter[] = [
  {
    key: 'status',
    label: 'Account status',
    options: [
      { value: 'all', label: 'All Status' },
      { value: 'active', label: 'Active' },
      { value: 'pending', label: 'Pending' },
      { value: 'suspended', label: 'Suspended' },
      { value: 'disabled', label: 'Disabled' },
    ],
  },
  {
    key: 'verified',
    label: 'Verified',
    options: [
      { value: 'all', label: 'All Members' },
      { value: 'true', label: 'Verified' },
      { value: 'false', label: 'Unverified' },
    ],
  },
]

function Cards({ cards }: { cards: MemberCards }) {
  return (
    <FigureRow>
      <Figure label="Total users" value={cards.total_users.toLocaleString('en-US')} />
      <Figure
        label="Active users"
        value={cards.active_users.toLocaleString('en-US')}
        note="package value above 0"
      />
      <Figure
        label="Verified users"
        value={cards.verified_users.toLocaleString('en-US')}
        explain={{ text: 'Profile, wallet and a paid package are all there.' }}
      />
      <Figure
        label="Total investment"
        value={<Money value={cards.total_investment} />}
        note="sum of package values"
      />
    </FigureRow>
  )
}

/** Users Management. The member whose details are open is in the address. */
export function AdminMembers() {
  const table = useTableState({
    sort: 'created_at.desc',
    sortable: ['created_at', 'username', 'package_value'],
    filters: { package: 'all', status: 'all', verified: 'all' },
  })
  const query = useAdminList('members', table, listMembers, 'Failed to load users')
  const { packages } = usePlatform().data ?? builtInPlatform
  const filters = useMemo(() => [packageFilter(packages), ...otherFilters], [packages])
  const [parameters, setParameters] = useAddress()
  const shown = parameters.get('user')

  const columns = useMemo(
    () => memberColumns((member) => setParameters((present) => put(present, 'user', member.id))),
    [setParameters],
  )

  function close() {
    setParameters((present) => put(present, 'user', null))
  }

  return (
    <>
      <PageHead
        title="Users Management"
        purpose="All members and the status of their accounts."
        actions={<RefreshButton queries={[query]} />}
      />
      <div className="my-6">
        {query.data ? (
          <Cards cards={query.data.cards} />
        ) : (
          <FigureRowSkeleton notes={['', 'package value above 0', '', 'sum of package values']} />
        )}
      </div>
      <DataTable
        name="users"
        noun="users"
        caption="Users"
        columns={columns}
        query={query}
        table={table}
        rowId={(row) => row.id}
        searchLabel="Search users..."
        filters={filters}
        errorText="Failed to load users"
        loadingText="Loading users..."
        empty={
          <EmptyState drawing="mooring" title="No users found" text="Members who sign up appear here." />
        }
        emptyFilteredTitle="No users found"
        selectedId={shown}
      />
      {shown ? <MemberSheet profileId={shown} onClose={close} /> : null}
    </>
  )
}
