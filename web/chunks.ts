import type { Rolldown } from 'vite'

type Lookup = (id: string) => Rolldown.ModuleInfo | null

const source = `${import.meta.dirname}/src`
const landing = `${source}/app/landing.tsx`
const router = `${source}/app/router.tsx`

/**
 * Kinds of pages. What the same kinds need is one file, so that a page loads few files and hardly any code of others.
 * The first that matches counts.
 */
const kinds: readonly RegExp[] = [
  /\/app\/landing\.tsx$/,
  /\/routes\/(terms|risk)\.tsx$/,
  /\/routes\/(sign-in|sign-up)\.tsx$/,
  /\/(routes\/dashboard|app\/(member-guard|member-header|notice-strip))\.tsx$/,
  /\/(routes\/admin\/(users|bots|transactions|deposits|withdrawals)|app\/admin-shell)\.tsx$/,
  /\/routes\/admin\//,
  /\/routes\/(payouts|income-disclosure)\.tsx$/,
  /\/routes\//,
]

/** A set of kinds as bits. */
type Kinds = number

/** Bytes of source below which a file is not worth a request: where a first page would carry it, and elsewhere. */
const small = { first: 8_000, later: 24_000 }

const everyKind: Kinds = 2 ** kinds.length - 1

function kindOf(page: string): Kinds {
  const kind = kinds.findIndex((pages) => pages.test(page))
  if (kind < 0) throw new Error(`chunks.ts: ${page} is of no kind of pages`)
  return 1 << kind
}

const visitors = kindOf(landing)

/** All but the landing page: they begin with the router. */
const routed: Kinds = everyKind & ~visitors

/** What is opened first, often on a phone. */
const firstOpened: Kinds = visitors | kindOf(`${source}/routes/dashboard.tsx`)

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
  const fetched = [router, `${source}/app/site-shell.tsx`].map(
    (file) => lookup(file)?.dynamicallyImportedIds ?? [],
  )
  for (const page of [landing, ...fetched.flat()]) {
    for (const id of closure(page, lookup)) found.set(id, (found.get(id) ?? 0) | kindOf(page))
  }
  const first = closure(landing, lookup)
  for (const id of closure(router, lookup)) found.set(id, first.has(id) ? everyKind : routed)
  for (const entry of closure(`${source}/main.tsx`, lookup)) found.delete(entry)
  return found
}

/** Lays what is small to what at least the same kinds need. */
function merge(found: Map<string, Kinds>, lookup: Lookup): void {
  const sizes = new Map<Kinds, number>()
  for (const [id, of] of found) sizes.set(of, (sizes.get(of) ?? 0) + (lookup(id)?.code?.length ?? 0))
  for (const [few, size] of [...sizes].sort(([a], [b]) => count(a) - count(b))) {
    // What lies beside the landing page's code may need no router.
    const wider = [...sizes.keys()].filter(
      (more) => more !== few && (more & few) === few && (more & visitors) === (few & visitors),
    )
    const nearest = wider.sort((a, b) => count(a) - count(b) || a - b)[0]
    if (nearest === undefined || count(few) === 1) continue
    if (size >= (nearest & ~few & firstOpened ? small.first : small.later)) continue
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

const sets = Array.from({ length: everyKind }, (_, index) => index + 1)

/** Files of what several pages share; what most kinds need comes first, because all others import it. */
export const sharedFiles: Rolldown.CodeSplittingGroup[] = sets.map((set) => ({
  name: (id, context) => (planned(id, context) === set ? `shared-${set}` : null),
  debugName: `shared-${set}`,
  priority: count(set),
  // The router itself is asked for by one alone.
  minShareCount: set === routed ? 1 : 2,
}))
