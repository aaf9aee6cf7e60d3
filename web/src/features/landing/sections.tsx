import { ArrowRight, Bot, Brain, ChartLine, Clock, Handshake, Workflow, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { ProductName } from '@/components/product-name'
import { Badge } from '@/components/status-badge'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'
import { industries } from './industries'

const offers: { icon: LucideIcon; name: string; line: string }[] = [
  {
    icon: Bot,
    name: 'Trading bots',
    line: 'Free bots on the provider’s VPS, with your own MT5 account. Hosting costs about $5 per month.',
  },
  { icon: Brain, name: 'AI tools', line: 'Help to read and sort information. You decide.' },
  { icon: Workflow, name: 'Business automation', line: 'Routine steps done by software, with a record.' },
  { icon: Handshake, name: 'Outsourcing', line: 'Set tasks done by people outside your team.' },
  { icon: ChartLine, name: 'Wealth building', line: 'Lessons on saving, trading and the risk in both.' },
]

const streams = [
  ['Earned', 'Pay for work you do.'],
  ['Profit', 'What a business keeps after its costs.'],
  ['Interest', 'Paid by whoever borrows your money.'],
  ['Dividend', 'A share of a company’s profit, paid to its owners.'],
  ['Rental', 'Paid for the use of something you own.'],
  ['Royalty', 'Paid when your work or idea is used.'],
  ['Capital gains', 'Selling something for more than you paid.'],
] as const

/** A section with its heading in the left third from 1024 px on. */
export function Chapter({ title, text, children }: { title: string; text: ReactNode; children: ReactNode }) {
  return (
    <section className="grid gap-x-6 gap-y-5 lg:grid-cols-[minmax(0,4fr)_minmax(0,8fr)]">
      <div>
        <h2 className="text-title-phone">{title}</h2>
        <div className="mt-1 max-w-[44ch] text-muted-foreground">{text}</div>
      </div>
      <div>{children}</div>
    </section>
  )
}

export function Offers() {
  return (
    <section>
      <h2 className="text-title-phone">What is here</h2>
      <ul className="mt-4 grid gap-x-6 md:grid-cols-2 lg:grid-cols-5">
        {offers.map(({ icon: Icon, name, line }) => (
          <li key={name} className="border-t border-input py-4">
            <p className="flex items-center gap-2 font-semibold">
              <Icon className="size-5 stroke-[1.75]" aria-hidden />
              {name}
            </p>
            <p className="mt-1 text-muted-foreground">{line}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}

export function IncomeStreams() {
  return (
    <Chapter
      title="Seven income streams"
      text={
        <p>
          General education. <ProductName /> pays only bonuses, and they come from other members’ packages.
        </p>
      }
    >
      <dl className="border-t border-input">
        {streams.map(([name, definition], index) => (
          <div
            key={name}
            className="grid grid-cols-[118px_1fr] items-baseline gap-x-0 border-b py-3 last:border-b-0 md:grid-cols-[44px_213px_1fr]"
          >
            <span
              aria-hidden
              className="tabular hidden font-title font-semibold text-muted-foreground md:block"
            >
              {index + 1}
            </span>
            <dt className="font-semibold">{name}</dt>
            <dd className="text-muted-foreground">{definition}</dd>
          </div>
        ))}
      </dl>
    </Chapter>
  )
}

export function Industries() {
  return (
    <Chapter
      title="Sixteen industries"
      text={<p>Fields where such income is earned. We do not claim operations in them.</p>}
    >
      <ul className="grid grid-cols-2 gap-x-4 lg:grid-cols-4 lg:gap-x-6">
        {industries.map(({ icon: Icon, name }) => (
          <li
            key={name}
            className="flex min-h-14 items-center gap-3 border-t py-2 leading-5 nth-[-n+2]:border-input lg:nth-[-n+4]:border-input"
          >
            <Icon className="size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
            {name}
          </li>
        ))}
      </ul>
    </Chapter>
  )
}

function Berth() {
  return (
    <svg
      viewBox="0 0 196 44"
      width="196"
      height="44"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      aria-hidden
      className="hidden text-input md:block"
    >
      <path d="M0 2h37v40h121V2h38" />
      <path d="M37 17h121" strokeDasharray="4 3" />
      <path d="M67 42v-5M97 42v-9M128 42v-9M149 42v-5" />
    </svg>
  )
}

export function BlockchainBank() {
  return (
    <section className="flex items-center justify-between gap-6 rounded-card border border-dashed border-input px-5 py-6 lg:px-8 lg:py-8">
      <div>
        <div className="flex flex-wrap items-center gap-3">
          <h2 className="text-title-phone">Blockchain bank</h2>
          <Badge icon={Clock}>Coming Soon</Badge>
        </div>
        <p className="mt-1 text-muted-foreground">Nothing is on offer yet.</p>
      </div>
      <Berth />
    </section>
  )
}

export function Closing() {
  return (
    <section className="border-t bg-muted">
      <div className="page-gutter mx-auto flex max-w-[1248px] flex-col justify-between gap-5 py-10 md:flex-row md:items-center">
        <div>
          <h2 className="text-title-phone lg:text-title">Read the split first. Then decide.</h2>
          <p className="mt-1 text-muted-foreground">Signing up needs the referral code of a member.</p>
        </div>
        <Button asChild variant="outline">
          <a href={paths.signUp} aria-label="Start Your Journey by signing up">
            Start Your Journey
            <ArrowRight aria-hidden />
          </a>
        </Button>
      </div>
    </section>
  )
}
