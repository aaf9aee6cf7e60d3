import type { Rolldown } from 'vite'

type Lookup = (id: string) => Rolldown.ModuleInfo | null

const app = `${import.meta.dirname}/src/app`

/**
 * Kinds of pages. What the same kinds need is one file, so that a page loads few files and hardly any code of others.
 * The first that matches counts.
 */
const kinds: readonly RegExp[] = [
  /\/routes\/(landing|terms|risk)\.tsx$/,
  /\/routes\/(sign-in|sign-up)\.tsx$/,
  /\/(routes\/dashboard|app\/(member-guard|member-header|notice-strip))\.tsx$/,
  /\/(routes\/admin\/(users|bots|transactions|deposits|withdrawals)|app\/admin-shell)\.tsx$/,
  /\/routes\/admin\//,
  /\/routes\/(payouts|income-disclosure)\.tsx$/,
  /\/routes\//,
]

/** Bytes of source below which a file is not worth a request. */
const small = 6000

/** A set of kinds as bits. */
type Kinds = number

/** All that a module imports, itself included; not what it fetches later. */
function closure(entry: string, lookup: Lookup): Set<string> {
  const seen = new Set([entry])
  for (const id of seen) for (const next of lookup(id)?.importedIds ?? []) seen.add(next)
  return seen
}

function count(set: Kinds): number {
  return set.toString(2).replaceAll('0', '').length
}

/** Which kinds of pages need a module. */
function needs(lookup: Lookup): Map<string, Kinds> {
  const found = new Map<string, Kinds>()
  const fetched = ['router.tsx', 'site-shell.tsx'].map(
    (file) => lookup(`${app}/${file}`)?.dynamicallyImportedIds ?? [],
  )
  for (const page of fetched.flat()) {
    const kind = kinds.findIndex((pages) => pages.test(page))
    if (kind < 0) throw new Error(`chunks.ts: ${page} is of no kind of pages`)
    for (const id of closure(page, lookup)) found.set(id, (found.get(id) ?? 0) | (1 << kind))
  }
  for (const entry of closure(`${import.meta.dirname}/src/main.tsx`, lookup)) found.delete(entry)
  return found
}

/** Lays what is small to what at least the same kinds need. */
function merge(found: Map<string, Kinds>, lookup: Lookup): void {
  const sizes = new Map<Kinds, number>()
  for (const [id, of] of found) sizes.set(of, (sizes.get(of) ?? 0) + (lookup(id)?.code?.length ?? 0))
  for (const [few, size] of [...sizes].sort(([a], [b]) => count(a) - count(b))) {
    const wider = [...sizes.keys()].filter((more) => more !== few && (more & few) === few)
    const nearest = wider.sort((a, b) => count(a) - count(b) || a - b)[0]
    if (size >= small || nearest === undefined) continue
    for (const [id, of] of found) if (of === few) found.set(id, nearest)
    sizes.set(nearest, (sizes.get(nearest) ?? 0) + size)
    sizes.delete(few)
  }
}

/** Made at the first question: the modules are known only then. */
let plan: Map<string, Kinds> | null = null

function planned(id: string, context: Rolldown.ChunkingContext): Kinds {
  if (!plan) {
    const lookup: Lookup = (module) => context.getModuleInfo(module)
    plan = needs(lookup)
    merge(plan, lookup)
  }
  return plan.get(id) ?? 0
}

const sets = Array.from({ length: 2 ** kinds.length - 1 }, (_, index) => index + 1)

/** Files of what several pages share; what most kinds need comes first, because all others import it. */
export const sharedFiles: Rolldown.CodeSplittingGroup[] = sets.map((set) => ({
  name: (id, context) => (planned(id, context) === set ? `shared-${set}` : null),
  debugName: `shared-${set}`,
  priority: count(set),
  minShareCount: 2,
}))
