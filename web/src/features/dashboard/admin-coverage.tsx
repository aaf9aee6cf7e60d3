import { ChevronRight } from 'lucide-react'
import { Link } from 'react-router'
import { CoverageFigures } from '@/components/coverage-figures'
import type { Coverage } from '@/lib/admin-overview'
import { paths } from '@/lib/paths'

/** What came in and stayed, against what members could withdraw now. */
export function CoverageCard({ coverage }: { coverage: Coverage }) {
  return (
    <section aria-labelledby="coverage" className="card-box flex grow flex-col">
      <div className="flex items-start justify-between gap-4">
        <h2 id="coverage" className="text-section">
          Coverage
        </h2>
        <Link
          to={paths.admin.coverage}
          className="inline-flex min-h-6 items-center gap-1 font-semibold text-primary"
        >
          Open
          <ChevronRight className="size-4" aria-hidden />
        </Link>
      </div>
      <CoverageFigures coverage={coverage} />
    </section>
  )
}
