import { Link } from 'react-router'
import { EmptyState } from '@/components/empty-state'
import { PageHead } from '@/components/page-head'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'

const rules = [
  'Every member counts, those who received nothing included.',
  'What a member received is set against what the member paid: results are net of packages.',
  'The period, the number of members and the time of counting stand beside every figure.',
  'Groups of fewer than ten members are too few to show.',
]

export function IncomePage() {
  return (
    <div className="page-gutter mx-auto flex max-w-[1168px] flex-col gap-6 py-8">
      <PageHead title="Income disclosure" purpose="What members received, with all of them counted." />
      <EmptyState
        drawing="ledger"
        title="Nothing to report yet."
        text="Figures appear here once a whole period has been counted. Until then, the plan itself says what is possible and what is not."
        action={
          <Button asChild variant="outline">
            <Link to={paths.payouts}>Where payouts come from</Link>
          </Button>
        }
      />
      <section>
        <h2 className="text-section">How it will be counted</h2>
        <ul className="mt-3 max-w-[68ch] border-t border-input">
          {rules.map((rule) => (
            <li key={rule} className="border-b py-3">
              {rule}
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
}
