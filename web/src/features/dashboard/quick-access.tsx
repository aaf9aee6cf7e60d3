import { Bot, LayoutDashboard, Settings, User } from 'lucide-react'
import { Link } from 'react-router'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'

const links = [
  { to: paths.dashboard, label: 'Dashboard', icon: LayoutDashboard },
  { to: paths.bots, label: 'Bots & Tools', icon: Bot },
  { to: paths.profile, label: 'Profile', icon: User },
  { to: paths.settings, label: 'Settings', icon: Settings },
]

export function QuickAccess() {
  return (
    <nav aria-labelledby="quick-access">
      <h2 id="quick-access" className="text-section">
        Quick Access
      </h2>
      <div className="mt-3 grid grid-cols-2 gap-3 md:grid-cols-4 md:gap-4">
        {links.map(({ to, label, icon: Icon }) => (
          <Button key={to} asChild variant="outline" className="justify-start">
            <Link to={to}>
              <Icon aria-hidden />
              {label}
            </Link>
          </Button>
        ))}
      </div>
    </nav>
  )
}
