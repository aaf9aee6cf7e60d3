import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { PageHead } from '@/components/page-head'
import { PairDiagram } from '@/components/pair-diagram'
import { Region } from '@/components/region'
import { RiskLine } from '@/components/risk-line'
import { SplitBar } from '@/components/split-bar'
import { Skeleton } from '@/components/ui/skeleton'
import { add, formatPercent, subtract, type Decimal } from '@/lib/money'
import { paths } from '@/lib/paths'
import { usePlatform, type Platform } from '@/lib/platform'
import { Calculator } from './calculator'
import { PlanTable } from './plan-table'

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-4">
      <h2 className="text-section">{title}</h2>
      {children}
    </section>
  )
}

const plain = (rate: Decimal) => formatPercent(rate.replace(/\.00$/, ''))

function Bound({ platform }: { platform: Platform }) {
  const pairing = platform.packages.at(-1)?.rate ?? '0'
  const { referral, override } = platform.rates
  const most = add(referral, pairing, override)
  const lines = [
    `Each funded package pays its owner’s sponsor ${plain(referral)}, once.`,
    `It stands in one pair at most, and that pair pays its owner at most ${plain(pairing)} of both packages.`,
    `The same pair pays the owner’s sponsor ${plain(override)} of both packages.`,
    `${plain(referral)} + ${plain(pairing)} + ${plain(override)} = ${plain(most)}: at least ${plain(subtract('100', most))} of every package stays with the company, whatever the tree looks like.`,
  ]
  return (
    <ol className="max-w-[68ch] border-t border-input">
      {lines.map((line, index) => (
        <li key={line} className="flex gap-4 border-b py-3">
          <span className="tabular w-4 shrink-0 font-title font-semibold text-muted-foreground">
            {index + 1}
          </span>
          {line}
        </li>
      ))}
    </ol>
  )
}

function Content({ platform }: { platform: Platform }) {
  const rates = {
    pairing: platform.packages.at(-1)?.rate ?? '0',
    referral: platform.rates.referral,
    override: platform.rates.override,
  }
  return (
    <div className="flex flex-col gap-12">
      <section aria-label="Split of a $1,000.00 package">
        <SplitBar price="1000.00" rates={rates} />
      </section>
      <div className="flex flex-col gap-3">
        <p className="text-lead">
          Every bonus is a share of another member’s package. Bots do not fund bonuses.
        </p>
        <RiskLine />
      </div>
      <div className="grid gap-12 lg:grid-cols-2">
        <Part title="Pairs">
          <PairDiagram />
        </Part>
        <Part
          title={`Why bonuses cannot exceed ${plain(add(rates.pairing, rates.referral, rates.override))}`}
        >
          <Bound platform={platform} />
        </Part>
      </div>
      <Part title="Packages">
        <PlanTable platform={platform} />
        <p className="text-compact text-muted-foreground">
          Referrals are counted as if each funded the same package. An upgrade costs the full price; what was
          paid before is not deducted.
        </p>
      </Part>
      <Part title="Calculator">
        <Calculator platform={platform} />
      </Part>
      <p>
        What members really received is on the{' '}
        <Link to={paths.incomeDisclosure} className="text-link">
          income disclosure
        </Link>{' '}
        page.
      </p>
    </div>
  )
}

export function PayoutsPage() {
  const query = usePlatform()
  return (
    <div className="page-gutter mx-auto flex max-w-[1168px] flex-col gap-8 py-8">
      <PageHead
        title="Where payouts come from"
        purpose="What happens to the $1,000.00 somebody pays for a package."
      />
      <Region
        query={query}
        errorText="The plan could not be loaded."
        skeleton={
          <div className="flex flex-col gap-4">
            <Skeleton className="h-10" />
            <Skeleton className="h-12 w-2/3" />
          </div>
        }
      >
        {(platform) => <Content platform={platform} />}
      </Region>
    </div>
  )
}
