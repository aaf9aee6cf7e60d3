import { Hero } from './hero'
import { BlockchainBank, Closing, IncomeStreams, Industries, Offers } from './sections'
import { WhereItGoes } from './where-it-goes'

export function LandingPage() {
  return (
    <>
      <Hero />
      <WhereItGoes />
      <div className="page-gutter mx-auto flex max-w-[1248px] flex-col gap-14 py-12 lg:gap-16 lg:py-20">
        <Offers />
        <IncomeStreams />
        <Industries />
        <BlockchainBank />
      </div>
      <Closing />
    </>
  )
}
