import { EmptyState } from './empty-state'
import { PageHead } from './page-head'

interface BeingBuiltProps {
  title: string
  purpose: string
  /** What the page will show, as a sentence. */
  shows: string
}

/** A page whose address stands and whose content does not yet. It says so and invents nothing. */
export function BeingBuilt({ title, purpose, shows }: BeingBuiltProps) {
  return (
    <div className="page-gutter mx-auto max-w-[1168px] py-8">
      <PageHead title={title} purpose={purpose} />
      <EmptyState drawing="ledger" title="This page is being built" text={shows} />
    </div>
  )
}
