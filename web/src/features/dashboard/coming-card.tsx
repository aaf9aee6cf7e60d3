import { drawings } from '@/components/drawings'
import { cn } from '@/lib/cn'
import type { Member } from '@/lib/member'

interface Coming {
  drawing: keyof typeof drawings
  title: string
  text: string
}

/** Which parts of the dashboard have something to show. */
export function contentOf({ bonuses, team, latest }: Member) {
  const { referral, pairing, override } = bonuses
  return {
    bonuses: referral.count + pairing.count + override.count > 0,
    team: team.direct_referrals > 0,
    transactions: latest.length > 0,
  }
}

function comingOf(member: Member): Coming[] {
  const has = contentOf(member)
  const coming: Coming[] = []
  if (!has.bonuses)
    coming.push({
      drawing: 'ledger',
      title: 'Earnings by type',
      text: 'Your first bonus will appear here.',
    })
  if (!has.team)
    coming.push({
      drawing: 'bollards',
      title: 'No team members yet',
      text: 'Two funded referrals form a pair.',
    })
  if (!has.transactions)
    coming.push({
      drawing: 'mooring',
      title: 'No transactions yet',
      text: 'Your first one will appear here.',
    })
  return coming
}

/** Everything that has nothing to show yet, named once. */
export function ComingCard({ member }: { member: Member }) {
  const coming = comingOf(member)
  if (coming.length === 0) return null
  return (
    <section aria-labelledby="coming" className="card-box">
      <h2 id="coming" className="font-sans text-body font-semibold tracking-normal">
        What will appear here
      </h2>
      <ul
        className={cn(
          'mt-1 max-md:divide-y md:mt-3 md:grid md:divide-x',
          coming.length === 3 && 'md:grid-cols-3',
          coming.length === 2 && 'md:grid-cols-2',
        )}
      >
        {coming.map(({ drawing, title, text }) => {
          const Drawing = drawings[drawing]
          return (
            <li
              key={title}
              className="flex items-center gap-4 py-3 max-md:last:pb-0 md:flex-col md:gap-1 md:px-4 md:py-1 md:text-center"
            >
              <span className="*:h-12 *:w-20 md:*:h-16 md:*:w-28" aria-hidden>
                <Drawing />
              </span>
              <span>
                <span className="block font-semibold">{title}</span>
                <span className="block text-compact text-muted-foreground">{text}</span>
              </span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
