import { ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { About, type Explanation } from '@/components/about'
import { Money, Percent } from '@/components/money'
import type { Member } from '@/lib/member'
import { paths } from '@/lib/paths'
import { explainPairs, explainRate, explainReferrals, explainVolume } from './explanations'

interface TeamFigureProps {
  label: string
  value: ReactNode
  note: string
  explain: Explanation
}

/** Label left and figure right on phones; stacked in two columns from there on. */
function TeamFigure({ label, value, note, explain }: TeamFigureProps) {
  return (
    <li className="flex items-center justify-between gap-4 border-b py-3 last:border-b-0 last:pb-0 md:flex-col md:items-start md:gap-0 md:nth-3:border-b-0 md:nth-3:pb-0">
      <span className="min-w-0">
        <span className="flex items-center gap-1.5 text-muted-foreground">
          {label}
          <About label={label.toLowerCase()} {...explain} />
        </span>
        <span className="block text-compact text-muted-foreground md:hidden">{note}</span>
      </span>
      <span className="tabular font-title text-figure font-semibold">{value}</span>
      <span className="hidden text-compact text-muted-foreground md:block">{note}</span>
    </li>
  )
}

export function TeamCard({ member }: { member: Member }) {
  const { team, profile } = member
  return (
    <section aria-labelledby="team-information" className="card-box">
      <div className="flex items-center justify-between gap-4">
        <h2 id="team-information" className="text-section">
          Team Information
        </h2>
        <Link
          to={`${paths.dashboard}?view=advanced&tab=tree`}
          className="inline-flex min-h-6 items-center gap-1 rounded-mark text-compact font-semibold text-primary hover:underline pointer-coarse:min-h-11"
        >
          Team Tree
          <ChevronRight className="size-4" aria-hidden />
        </Link>
      </div>
      <ul className="md:mt-1 md:grid md:grid-cols-2">
        <TeamFigure
          label="Direct referrals"
          value={team.direct_referrals}
          note={`${team.funded_referrals} ${team.funded_referrals === 1 ? 'has' : 'have'} a funded package`}
          explain={explainReferrals(member)}
        />
        <TeamFigure
          label="Active pairs"
          value={team.active_pairs}
          note={`${team.paying_pairs} paying`}
          explain={explainPairs(member)}
        />
        <TeamFigure
          label="Package rate"
          value={<Percent value={team.package_rate} />}
          note={
            profile.package_label
              ? `${profile.package_label} package`.replace('Package package', 'Package')
              : 'No package yet'
          }
          explain={explainRate(member)}
        />
        <TeamFigure
          label="Total team volume"
          value={<Money value={team.total_team_volume} />}
          note="Packages of your referrals"
          explain={explainVolume(member)}
        />
      </ul>
    </section>
  )
}
