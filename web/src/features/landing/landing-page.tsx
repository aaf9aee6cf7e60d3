import { SplitBar } from '@/components/split-bar'
import { paths } from '@/lib/paths'
import { builtInPlatform, usePlatform } from '@/lib/platform'
import { Hero } from './hero'
import { BlockchainBank, Chapter, Closing, IncomeStreams, Industries, Offers } from './sections'

function Split() {
  const { packages, rates: shares } = usePlatform().data ?? builtInPlatform
  const rates = { pairing: packages.at(-1)?.rate ?? '', referral: shares.referral, override: shares.override }
  return (
    <Chapter
      title="Where a $1,000.00 package goes"
      text={
        <>
          <p>Bots do not fund bonuses. What bonuses do not take stays with the company.</p>
          <a href={paths.payouts} className="text-link mt-1 inline-flex items-center max-lg:min-h-11">
            Where payouts come from
          </a>
        </>
      }
    >
      <SplitBar price="1000.00" rates={rates} />
    </Chapter>
  )
}

export function LandingPage() {
  return (
    <>
      <Hero />
      <div className="page-gutter mx-auto flex max-w-[1248px] flex-col gap-14 py-12 lg:gap-16 lg:py-20">
        <Offers />
        <IncomeStreams />
        <Industries />
        <BlockchainBank />
        <Split />
      </div>
      <Closing />
    </>
  )
}
