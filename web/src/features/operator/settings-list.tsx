import { useState } from 'react'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { cn } from '@/lib/cn'
import type { Setting } from './api'
import { SettingDialog } from './setting-dialog'
import { shownValue } from './setting-value'

/** They change by what is done above, never by hand. */
const derived = ['demo', 'demo.seeded', 'mail.ready', 'mail.server', 'site.url']

/** Every value of this installation, with who changed it last. */
export function SettingsList({ settings }: { settings: Setting[] }) {
  const [changing, setChanging] = useState<Setting | null>(null)
  return (
    <section aria-labelledby="settings">
      <h2 id="settings" className="mb-3 text-section">
        Settings
      </h2>
      <ul className="border-t">
        {settings.map((setting) => (
          <li
            key={setting.key}
            className="flex flex-wrap items-center gap-x-6 gap-y-1.5 border-b py-3 lg:grid lg:grid-cols-[minmax(0,5fr)_minmax(0,5fr)_minmax(0,3fr)_5rem]"
          >
            <div className="min-w-0 max-lg:basis-full">
              <p className="font-semibold">{setting.description}</p>
              <p className="font-mono text-compact break-words text-muted-foreground">{setting.key}</p>
            </div>
            <p
              className={cn(
                'line-clamp-2 min-w-0 max-lg:basis-full',
                setting.key === 'deposit.address' ? 'font-mono break-all' : 'break-words',
              )}
            >
              {shownValue(setting)}
            </p>
            <p className="text-compact text-muted-foreground">
              {setting.updated_by_name ? (
                <>
                  Changed by {setting.updated_by_name}, <Timestamp value={setting.updated_at} />
                </>
              ) : (
                'Never changed'
              )}
            </p>
            {derived.includes(setting.key) ? null : (
              <Button
                variant="outline"
                size="row"
                className="ml-auto"
                aria-label={`Change ${setting.description}`}
                onClick={() => setChanging(setting)}
              >
                Change
              </Button>
            )}
          </li>
        ))}
      </ul>
      {changing ? <SettingDialog setting={changing} onClose={() => setChanging(null)} /> : null}
    </section>
  )
}
