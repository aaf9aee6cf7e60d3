import { SplitBar } from '@/components/split-bar'
import { formatPercent } from '@/lib/money'
import { paths } from '@/lib/paths'
import { builtInPlatform, usePlatform } from '@/lib/platform'

const price = '1000.00'

/** Who gets what of one package, and how much at most. */
export function WhereItGoes() {
  const { packages, rates } = usePlatform().data ?? builtInPlatform
  const [lowest, highest] = [packages[0]?.rate ?? '', packages.at(-1)?.rate ?? '']
  return (
    <section className="border-y bg-card">
      <div className="page-gutter mx-auto max-w-[1248px] py-12 lg:py-16">
        <h2 className="text-title-phone lg:text-title">Where a $1,000.00 package goes</h2>
        <div className="mt-2 mb-7 flex flex-wrap items-end justify-between gap-x-8 gap-y-2">
          <p className="max-w-[62ch] text-lead text-muted-foreground">
            Every bonus is a share of another member’s package. Bots do not fund bonuses. What bonuses do not
            take stays with the company.
          </p>
          <a href={paths.payouts} className="text-link inline-flex items-center max-lg:min-h-11">
            Where payouts come from
          </a>
        </div>
        <SplitBar
          price={price}
          rates={{ pairing: highest, referral: rates.referral, override: rates.override }}
          notes={{
            Pairing: `To the owner of the pair that the package completes, at the rate of the owner’s own package: ${formatPercent(lowest)} to ${formatPercent(highest)}.`,
            Referral: 'To the member whose code was used.',
            Override: 'To the member who invited the pair’s owner.',
            Company: 'Runs the product. More stays where a pair pays less, or not at all.',
          }}
        />
      </div>
    </section>
  )
}
