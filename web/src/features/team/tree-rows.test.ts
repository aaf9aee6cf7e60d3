import { describe, expect, it } from 'vitest'
import type { PairState, TreeChild, TreeNode } from './api'
import { describePair, flattenTree, type Branch } from './tree-rows'

function child(id: string, position: number, state: PairState, referrals = 0): TreeChild {
  return {
    id,
    username: id,
    display_name: id,
    position,
    pair_number: Math.ceil(position / 2),
    package_value: '100.00',
    funded: state === 'paying',
    direct_referrals: referrals,
    created_at: '2026-01-15T10:00:00Z',
    pair_state: state,
    blocked_by: state === 'blocked' ? 'ben' : null,
  }
}

const root: TreeNode = { ...child('mara', 0, 'paying', 5), position: null, pair_number: null }

function branch(...items: TreeChild[]): Branch {
  return { items, total: items.length, more: false, loading: false }
}

describe('flattenTree', () => {
  it('shows a closed root alone', () => {
    expect(flattenTree(root, new Map())).toMatchObject([{ key: 'mara', level: 1, expanded: false }])
  })

  it('brackets pairs and runs the bracket past an open branch', () => {
    const branches = new Map([
      ['mara', branch(child('erik', 1, 'paying', 1), child('lena', 2, 'paying'), child('gus', 3, 'open'))],
      ['erik', branch(child('marta', 1, 'open'))],
    ])
    const rows = flattenTree(root, branches)
    expect(rows.map((row) => row.key)).toEqual(['mara', 'erik', 'marta', 'lena', 'gus'])
    expect(rows.map((row) => row.brackets.map((piece) => piece.part))).toEqual([
      [],
      ['top'],
      ['through', 'open'],
      ['bottom'],
      ['open'],
    ])
  })

  it('ends a branch with a row that loads more, and keeps the full count', () => {
    const rows = flattenTree(
      root,
      new Map([
        [
          'mara',
          { ...branch(child('a', 1, 'blocked'), child('b', 2, 'blocked')), total: 22_909, more: true },
        ],
      ]),
    )
    expect(rows.at(-1)).toMatchObject({ kind: 'more', parent: 'mara', total: 22_909 })
    expect(rows[1]).toMatchObject({ place: 1, siblings: 22_909 })
  })
})

it('describes a pair', () => {
  expect(describePair(child('a', 3, 'blocked'))).toBe('Pair 2, blocked by ben')
  expect(describePair(child('a', 7, 'open'))).toBe('Pair 4, open')
})
