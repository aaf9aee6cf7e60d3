import { Link, useLocation } from 'react-router'
import { RiskLine } from '@/components/risk-line'
import { Wordmark } from '@/components/wordmark'
import { cn } from '@/lib/cn'
import { paths } from '@/lib/paths'
import { usePlatform } from '@/lib/platform'
import type { NavigationLink } from './menu-button'

const honest: NavigationLink[] = [
  { to: paths.payouts, label: 'Where payouts come from' },
  { to: paths.incomeDisclosure, label: 'Income disclosure' },
  { to: paths.terms, label: 'Terms' },
  { to: paths.risk, label: 'Risk' },
]

const landing: NavigationLink[] = [
  { to: paths.education, label: 'Education' },
  { to: paths.bots, label: 'Solutions' },
  { to: paths.packages, label: 'Ecosystem' },
  ...honest,
]

function Operator() {
  const { data } = usePlatform()
  if (!data) return null
  const { name, address } = data.operator
  // One text, which /config.js sets before React is here (start.js).
  return (
    <p data-setting="operator" suppressHydrationWarning className="text-compact text-muted-foreground">
      {name
        ? `Operator: ${address ? `${name}, ${address}` : name}`
        : 'Operator: not set yet. This is a demo.'}
    </p>
  )
}

function Links({ links, className }: { links: NavigationLink[]; className?: string }) {
  return (
    <nav aria-label="Footer" className={className}>
      {links.map((link) => (
        <Link
          key={link.to}
          to={link.to}
          className="text-link inline-flex items-center text-compact max-lg:min-h-11"
        >
          {link.label}
        </Link>
      ))}
    </nav>
  )
}

export function SiteFooter() {
  const { pathname } = useLocation()
  if (pathname === paths.home) {
    return (
      <footer className="border-t bg-card">
        <div className="page-gutter mx-auto flex max-w-[1248px] flex-col gap-5 py-8">
          <div className="flex flex-wrap items-center justify-between gap-x-10 gap-y-3">
            <Wordmark />
            <Links links={landing} className="grid grid-cols-2 gap-x-7 sm:flex sm:flex-wrap" />
          </div>
          <Operator />
        </div>
      </footer>
    )
  }
  return (
    <footer data-print="no" className="mt-12 border-t">
      <div
        className={cn(
          'page-gutter mx-auto flex max-w-[1168px] flex-wrap justify-between gap-x-10 gap-y-3 py-6',
        )}
      >
        <RiskLine className="max-w-[68ch] text-muted-foreground" />
        <Links links={honest} className="flex flex-wrap gap-x-6" />
      </div>
    </footer>
  )
}
