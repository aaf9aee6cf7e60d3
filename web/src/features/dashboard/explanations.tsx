import type { ReactNode } from 'react'
import { Link } from 'react-router'
import type { Explanation } from '@/components/about'
import { Percent } from '@/components/money'
import type { Member } from '@/lib/member'
import { compare, formatMoney, formatPercent } from '@/lib/money'
import { paths } from '@/lib/paths'

function rows(query = ''): ReactNode {
  return (
    <Link className="text-link" to={paths.transactions + query}>
      See the rows
    </Link>
  )
}

const team = (
  <Link className="text-link" to={`${paths.dashboard}?view=advanced&tab=tree`}>
    See your team
  </Link>
)

const pairs = (
  <Link className="text-link" to={`${paths.dashboard}?view=advanced&tab=pairing`}>
    See your pairs
  </Link>
)

const packages = (
  <Link className="text-link" to={paths.packages}>
    See the packages
  </Link>
)

/** What stands behind each figure of this member: a sentence, the formula with the member's own numbers. */
export function explainBalance({ as_of, balance, bonuses }: Member): Explanation {
  return {
    text: 'All your bonuses less the withdrawals that were approved, never below zero. Deposits are not part of it.',
    formula: `${formatMoney(bonuses.total)} − ${formatMoney(balance.approved_withdrawals)} = ${formatMoney(balance.available)}`,
    asOf: as_of,
    link: rows(),
  }
}

export function explainPackage({ as_of, profile }: Member): Explanation {
  return {
    text: 'The largest package you hold. It can only go up.',
    formula: `${formatMoney(profile.cash_in_amount)} of ${formatMoney(profile.package_value)} cash-in is approved.`,
    asOf: as_of,
    link: packages,
  }
}

export function explainReferral({ as_of, bonuses }: Member, rate: string): Explanation {
  return {
    text: `${formatPercent(rate)} of the package of each direct referral who has funded it.`,
    formula: `${bonuses.referral.count} bonuses, together ${formatMoney(bonuses.referral.amount)}`,
    asOf: as_of,
    link: rows('?type=referral+bonus'),
  }
}

export function explainPairing({ as_of, bonuses, team: mine }: Member): Explanation {
  return {
    text: 'The two packages of each paying pair, times your own pairing rate.',
    formula: `${mine.paying_pairs} paying pairs at ${formatPercent(mine.package_rate)}, together ${formatMoney(bonuses.pairing.amount)}`,
    asOf: as_of,
    link: rows('?type=pairing+bonus'),
  }
}

export function explainOverride({ as_of, bonuses }: Member, rate: string): Explanation {
  return {
    text: `${formatPercent(rate)} of the volume of each paying pair of your direct referrals.`,
    formula: `${bonuses.override.count} bonuses, together ${formatMoney(bonuses.override.amount)}`,
    asOf: as_of,
    link: rows('?type=override+bonus'),
  }
}

export function explainEarnings({ as_of, bonuses }: Member): Explanation {
  const { referral, pairing, override, total } = bonuses
  return {
    text: 'Everything you have been credited, before withdrawals.',
    formula: `${formatMoney(referral.amount)} referral + ${formatMoney(pairing.amount)} pairing + ${formatMoney(override.amount)} override = ${formatMoney(total)}`,
    asOf: as_of,
    link: rows(),
  }
}

export function explainProfit({ as_of, bonuses, profile, net_profit }: Member): Explanation {
  return {
    text: 'What you earned less what your package cost.',
    formula: `${formatMoney(bonuses.total)} − ${formatMoney(profile.package_value)} = ${formatMoney(net_profit)}`,
    asOf: as_of,
    link: rows(),
  }
}

export function explainRoi({ as_of, bonuses, profile, roi }: Member): Explanation {
  const [earned, price] = [formatMoney(bonuses.total), formatMoney(profile.package_value)]
  return {
    text: 'What you earned less what your package cost, as a share of that cost.',
    formula:
      compare(profile.package_value, '0') > 0 ? (
        <>
          ({earned} − {price}) / {price} = <Percent value={roi} />
        </>
      ) : (
        'Without a package it is 0.00%.'
      ),
    asOf: as_of,
    link: rows(),
  }
}

export function explainReferrals({ as_of, team: mine }: Member): Explanation {
  return {
    text: 'Everyone who joined with your link. Only those with a funded package earn you anything.',
    formula: `${mine.direct_referrals} direct referrals, ${mine.funded_referrals} with a funded package`,
    asOf: as_of,
    link: team,
  }
}

export function explainPairs({ as_of, team: mine }: Member): Explanation {
  return {
    text: 'Your direct referrals in the order they joined, two by two. A pair pays once both have a funded package.',
    formula: `${mine.direct_referrals} / 2, rounded down = ${mine.active_pairs}; paying ${mine.paying_pairs}`,
    asOf: as_of,
    link: pairs,
  }
}

export function explainRate({ as_of, profile }: Member): Explanation {
  return {
    text: 'Your share of each paying pair’s volume. It follows from your package.',
    formula: profile.package_label
      ? `${profile.package_label}, ${formatMoney(profile.package_value)}: ${formatPercent(profile.package_rate)}`
      : 'Without a package it is 0.00%.',
    asOf: as_of,
    link: packages,
  }
}

export function explainVolume({ as_of, team: mine }: Member): Explanation {
  return {
    text: 'The packages of your direct referrals added up.',
    formula: `${mine.direct_referrals} direct referrals, together ${formatMoney(mine.total_team_volume)}`,
    asOf: as_of,
    link: team,
  }
}
