import { Link } from 'react-router'
import { RiskLine } from '@/components/risk-line'
import { FooterLinks, honest } from './footer-links'

export function SiteFooter() {
  return (
    <footer data-print="no" className="mt-12 border-t">
      <div className="page-gutter mx-auto flex max-w-[1168px] flex-wrap justify-between gap-x-10 gap-y-3 py-6">
        <RiskLine className="max-w-[68ch] text-muted-foreground" />
        <FooterLinks link={Link} links={honest} className="flex flex-wrap gap-x-6" />
      </div>
    </footer>
  )
}
