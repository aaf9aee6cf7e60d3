import type { ReactNode } from 'react'
import type { Platform } from '@/lib/platform'
import type { PendingDeposit } from './api'

function Question({ ask, children }: { ask: string; children: ReactNode }) {
  return (
    <div className="border-b py-3 first:pt-0 last:border-b-0 last:pb-0">
      <dt className="font-semibold">{ask}</dt>
      <dd className="text-muted-foreground">{children}</dd>
    </div>
  )
}

interface WhileYouWaitProps {
  pending: PendingDeposit[]
  support: Platform['support']
}

/** What members ask of a deposit in review. */
export function WhileYouWait({ pending, support }: WhileYouWaitProps) {
  const [only] = pending.length === 1 ? pending : []
  const contact = support.email ? (
    <a href={`mailto:${support.email}`} className="text-link">
      Contact support
    </a>
  ) : (
    'Contact support'
  )
  return (
    <section aria-labelledby="while-you-wait" className="card-box text-compact">
      <h2 id="while-you-wait" className="mb-3 font-sans text-body font-semibold tracking-normal">
        Questions while you wait
      </h2>
      <dl>
        <Question ask="Why does a person review it?">
          A package changes what other members earn. Each transfer is compared once, by hand.
        </Question>
        <Question ask="What if 24 hours pass?">
          It stays in review and is not lost. {contact} with{' '}
          {only
            ? `the last 4 characters of your reference: ${only.reference_number.slice(-4)}`
            : 'your reference'}
          .
        </Question>
        <Question ask="Can it be rejected?">
          Yes, with a reason, for example when another amount arrived. Then nothing is added.
        </Question>
      </dl>
    </section>
  )
}
