import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { CopyButton } from '@/components/copy-button'
import { EmptyState } from '@/components/empty-state'
import { Region } from '@/components/region'
import { RiskLine } from '@/components/risk-line'
import { Skeleton } from '@/components/ui/skeleton'
import { referralLink } from '@/lib/referral-link'
import { toasts } from '@/lib/toast-queue'
import { put, useAddress } from '@/lib/use-address'
import { useMedia } from '@/lib/use-media'
import type { PathStep, TreeNode } from './api'
import { fullNameOf, nameOf } from './names'
import { TreeDetails } from './tree-details'
import { TreeGrid } from './tree-grid'
import { deepestIndent, TreeLegend } from './tree-gutter'
import { TreeLevels } from './tree-levels'
import type { MemberRow } from './tree-rows'
import { TreeSearch } from './tree-search'
import { useTree } from './use-tree'

/** The root of the shown tree stands in the address; without one it is the member. */
function useRoot(): [string | null, (id: string | null) => void] {
  const [parameters, setParameters] = useAddress()
  return [parameters.get('root'), (id) => setParameters((present) => put(present, 'root', id))]
}

/** Everyone below the member, branch by branch, with the brackets that make pairs visible. */
export default function TeamTree({ selfId }: { selfId: string }) {
  const [root, setRoot] = useRoot()
  const shown = root === selfId ? null : root
  return (
    <Tree
      key={shown ?? 'self'}
      root={shown}
      selfId={selfId}
      onRoot={(id) => setRoot(id === selfId ? null : id)}
    />
  )
}

interface TreeProps {
  root: string | null
  selfId: string
  onRoot: (id: string | null) => void
}

function Tree({ root, selfId, onRoot }: TreeProps) {
  const { top, rows, toggle, showMore } = useTree(root)
  const wide = useMedia('(min-width: 48rem)')
  const [details, setDetails] = useState<MemberRow | null>(null)
  const isEmpty = (total: number | undefined) => root === null && total === 0

  function toggleRow(row: MemberRow) {
    if (row.level >= deepestIndent && !row.expanded) onRoot(row.node.id)
    else toggle(row.node.id)
  }

  return (
    <section aria-label="Team Tree" className="flex flex-col gap-4">
      {isEmpty(top.data?.total) ? null : (
        <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
          <div className="flex grow flex-wrap items-center gap-x-4 gap-y-2 sm:grow-0">
            <TreeSearch onFind={onRoot} />
            {top.data ? <Count root={top.data.root} self={root === null} /> : null}
          </div>
          <TreeLegend />
        </div>
      )}
      <Region
        query={top}
        errorText="Failed to load MLM data"
        loadingText="Loading team"
        skeleton={<Skeleton className="h-96 w-full rounded-card" />}
        isEmpty={(data) => isEmpty(data.total)}
        empty={<NoTeam selfId={selfId} />}
      >
        {(data) => {
          const label = `Team tree of ${nameOf(data.root)}`
          return (
            <>
              {data.path.length > 1 ? <Breadcrumb path={data.path} onRoot={onRoot} /> : null}
              {wide ? (
                <TreeGrid
                  label={label}
                  rows={rows}
                  selfId={selfId}
                  onToggle={toggleRow}
                  onOpen={setDetails}
                  onMore={(row) => showMore(row.parent)}
                />
              ) : (
                <TreeLevels
                  label={label}
                  rows={rows}
                  onEnter={onRoot}
                  onOpen={setDetails}
                  onMore={(row) => showMore(row.parent)}
                />
              )}
            </>
          )
        }}
      </Region>
      {details ? (
        <TreeDetails
          row={details}
          onClose={() => setDetails(null)}
          onRoot={(id) => {
            setDetails(null)
            onRoot(id)
          }}
        />
      ) : null}
    </section>
  )
}

function Count({ root, self }: { root: TreeNode; self: boolean }) {
  const count = root.direct_referrals.toLocaleString('en-US')
  return (
    <p className="text-compact text-muted-foreground">
      {count} direct referral{root.direct_referrals === 1 ? '' : 's'}
      {self ? '' : ` of ${nameOf(root)}`}
    </p>
  )
}

function Breadcrumb({ path, onRoot }: { path: PathStep[]; onRoot: (id: string | null) => void }) {
  return (
    <nav aria-label="Path in the tree">
      <ol className="flex flex-wrap items-center gap-x-1.5 gap-y-1">
        {path.map((step, index) => (
          <li key={step.id} className="inline-flex items-center gap-1.5">
            {index > 0 ? <ChevronRight className="size-4 text-muted-foreground" aria-hidden /> : null}
            {index === path.length - 1 ? (
              <span aria-current="page" className="font-semibold">
                {fullNameOf(step)}
              </span>
            ) : (
              <button
                type="button"
                className="text-link min-h-6 pointer-coarse:min-h-11"
                onClick={() => onRoot(step.id)}
              >
                {fullNameOf(step)}
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}

function NoTeam({ selfId }: { selfId: string }) {
  return (
    <EmptyState
      drawing="bollards"
      title="No team members yet"
      text="People who sign up with your link appear here in the order they join."
      action={
        <div className="flex flex-col items-center gap-4">
          <CopyButton
            text={referralLink(selfId)}
            what="referral link"
            onCopied={() => toasts.success('Referral link copied to clipboard!')}
            onFailed={() => toasts.error('Failed to copy link')}
          >
            Copy referral link
          </CopyButton>
          <RiskLine className="text-left" />
        </div>
      }
    />
  )
}
