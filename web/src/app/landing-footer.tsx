import { Wordmark } from '@/components/wordmark'
import { paths } from '@/lib/paths'
import { usePlatform } from '@/lib/platform'
import { FooterLinks, honest } from './footer-links'
import type { NavigationLink } from './menu-button'
import { PlainLink } from './plain-link'

const links: NavigationLink[] = [
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

export function LandingFooter() {
  return (
    <footer className="border-t bg-card">
      <div className="page-gutter mx-auto flex max-w-[1248px] flex-col gap-5 py-8">
        <div className="flex flex-wrap items-center justify-between gap-x-10 gap-y-3">
          <Wordmark />
          <FooterLinks
            link={PlainLink}
            links={links}
            className="grid grid-cols-2 gap-x-7 sm:flex sm:flex-wrap"
          />
        </div>
        <Operator />
      </div>
    </footer>
  )
}
