import { paths } from '@/lib/paths'
import type { NavigationLink } from './menu-button'
import type { PageLink } from './plain-link'

/** What nobody should have to look for. */
export const honest: NavigationLink[] = [
  { to: paths.payouts, label: 'Where payouts come from' },
  { to: paths.incomeDisclosure, label: 'Income disclosure' },
  { to: paths.terms, label: 'Terms' },
  { to: paths.risk, label: 'Risk' },
]

interface FooterLinksProps {
  link: PageLink
  links: NavigationLink[]
  className?: string
}

export function FooterLinks({ link: Link, links, className }: FooterLinksProps) {
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
