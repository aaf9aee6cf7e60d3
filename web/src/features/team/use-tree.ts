import { useQueries, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { treePageSize, treeQuery, type TreePage } from './api'
import { flattenTree, type Branch, type TreeRow } from './tree-rows'

interface PageOf {
  parent: string
  after: number
}

/** How many pages of whose children are open; the root's first page always is. */
type OpenBranches = Record<string, number>

function pagesOf(open: OpenBranches): PageOf[] {
  return Object.entries(open).flatMap(([parent, pages]) =>
    Array.from({ length: pages }, (_, index) => ({ parent, after: index * treePageSize })),
  )
}

function branchesOf(wanted: PageOf[], loaded: (TreePage | undefined)[]): Map<string, Branch> {
  const branches = new Map<string, Branch>()
  wanted.forEach(({ parent }, index) => {
    const page = loaded[index]
    const before = branches.get(parent) ?? { items: [], total: 0, more: false, loading: false }
    branches.set(
      parent,
      page
        ? {
            items: [...before.items, ...page.items],
            total: page.total,
            more: page.next !== null,
            loading: false,
          }
        : { ...before, more: false, loading: true },
    )
  })
  return branches
}

/** The rows of a tree that opens branch by branch, fifty children at a time. */
export function useTree(root: string | null) {
  const top = useQuery(treeQuery(root, 0))
  const [open, setOpen] = useState<OpenBranches>({})
  const [closedRoot, setClosedRoot] = useState(false)
  const rootId = top.data?.root.id
  const wanted = useMemo(() => {
    if (rootId === undefined) return []
    const { [rootId]: rootPages = 1, ...others } = open
    return pagesOf(closedRoot ? others : { [rootId]: rootPages, ...others })
  }, [open, rootId, closedRoot])
  const loaded = useQueries({
    queries: wanted.map(({ parent, after }) => treeQuery(parent === rootId ? root : parent, after)),
    combine: (results) => results.map((result) => result.data),
  })
  const rows = useMemo<TreeRow[]>(
    () => (top.data ? flattenTree(top.data.root, branchesOf(wanted, loaded)) : []),
    [top.data, wanted, loaded],
  )

  function toggle(id: string) {
    if (id === rootId) {
      setClosedRoot(!closedRoot)
      return
    }
    setOpen(({ [id]: pages, ...others }) => (pages ? others : { ...others, [id]: 1 }))
  }

  function showMore(parent: string) {
    setOpen((before) => ({ ...before, [parent]: (before[parent] ?? 1) + 1 }))
  }

  return { top, rows, toggle, showMore }
}
