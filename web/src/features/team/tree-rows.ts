import type { PairState, TreeChild, TreeNode } from './api'

/** A piece of a pair's bracket in the gutter of one level, as far as it touches one row. */
export interface Bracket {
  /** Level of the pair's children; the gutter stands left of it. */
  level: number
  part: 'top' | 'through' | 'bottom' | 'open'
  state: PairState
}

export interface Branch {
  items: TreeChild[]
  total: number
  more: boolean
  loading: boolean
}

interface RowBase {
  key: string
  level: number
  brackets: Bracket[]
}

export interface MemberRow extends RowBase {
  kind: 'member'
  node: TreeNode
  child: TreeChild | null
  parent: string | null
  /** From 1 among the siblings, and how many siblings there are in all. */
  place: number
  siblings: number
  /** null for a member without direct referrals. */
  expanded: boolean | null
}

export interface MoreRow extends RowBase {
  kind: 'more'
  parent: string
  loading: boolean
  total: number
}

export type TreeRow = MemberRow | MoreRow

/** The visible rows, top to bottom, of a root and the branches that are open below it. */
export function flattenTree(root: TreeNode, branches: Map<string, Branch>): TreeRow[] {
  const rows: TreeRow[] = [
    {
      kind: 'member',
      key: root.id,
      level: 1,
      brackets: [],
      node: root,
      child: null,
      parent: null,
      place: 1,
      siblings: 1,
      expanded: root.direct_referrals > 0 ? branches.has(root.id) : null,
    },
  ]
  addChildren(rows, root.id, 2, [], branches)
  return rows
}

function addChildren(
  rows: TreeRow[],
  parent: string,
  level: number,
  above: Bracket[],
  branches: Map<string, Branch>,
) {
  const branch = branches.get(parent)
  if (!branch) return
  branch.items.forEach((child, index) => {
    const isLeft = (child.position ?? 1) % 2 === 1
    const hasPartner = isLeft ? branch.items[index + 1] !== undefined : true
    const part = isLeft ? (hasPartner ? 'top' : 'open') : 'bottom'
    rows.push({
      kind: 'member',
      key: child.id,
      level,
      brackets: [...above, { level, part, state: child.pair_state }],
      node: child,
      child,
      parent,
      place: child.position ?? index + 1,
      siblings: branch.total,
      expanded: child.direct_referrals > 0 ? branches.has(child.id) : null,
    })
    // Below an open left child its bracket runs on to the partner.
    const through: Bracket[] =
      isLeft && hasPartner ? [...above, { level, part: 'through', state: child.pair_state }] : above
    addChildren(rows, child.id, level + 1, through, branches)
  })
  if (branch.more || branch.loading) {
    rows.push({
      kind: 'more',
      key: `${parent}-more`,
      level,
      brackets: above,
      parent,
      loading: branch.loading,
      total: branch.total,
    })
  }
}

/** "Pair 1, paying", "Pair 2, blocked by ben", "Pair 4, open". */
export function describePair(child: TreeChild): string {
  const pair = `Pair ${child.pair_number ?? 0}`
  if (child.pair_state === 'blocked') return `${pair}, blocked by ${child.blocked_by ?? 'a member'}`
  if (child.pair_state === 'no_rate') return `${pair}, rate 0%`
  return `${pair}, ${child.pair_state}`
}
