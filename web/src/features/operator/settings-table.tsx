import { useState } from 'react'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import type { Setting } from './api'
import { SettingDialog } from './setting-dialog'
import { typedValue } from './setting-value'

/** They change by what is done above, never by hand. */
const derived = ['demo', 'demo.seeded', 'mail.ready']

/** Every value of this installation, with who changed it last. */
export function SettingsTable({ settings }: { settings: Setting[] }) {
  const [changing, setChanging] = useState<Setting | null>(null)
  return (
    <section aria-labelledby="settings">
      <h2 id="settings" className="mb-3 text-section">
        Settings
      </h2>
      <Table>
        <caption className="sr-only">Settings</caption>
        <thead>
          <tr>
            <TableHead>Setting</TableHead>
            <TableHead>Value</TableHead>
            <TableHead>Changed</TableHead>
            <TableHead data-align="right">Actions</TableHead>
          </tr>
        </thead>
        <tbody>
          {settings.map((setting) => (
            <TableRow key={setting.key}>
              <TableCell>
                <span className="block font-semibold">{setting.description}</span>
                <span className="font-mono text-compact text-muted-foreground">{setting.key}</span>
              </TableCell>
              <TableCell>
                <span className="line-clamp-2 max-w-[40ch] break-words">
                  {typedValue(setting) || 'Not set'}
                </span>
              </TableCell>
              <TableCell>
                {setting.updated_by_name ? (
                  <>
                    {setting.updated_by_name}, <Timestamp value={setting.updated_at} />
                  </>
                ) : (
                  'Never'
                )}
              </TableCell>
              <TableCell data-align="right">
                {derived.includes(setting.key) ? null : (
                  <Button
                    variant="outline"
                    size="row"
                    aria-label={`Change ${setting.description}`}
                    onClick={() => setChanging(setting)}
                  >
                    Change
                  </Button>
                )}
              </TableCell>
            </TableRow>
          ))}
        </tbody>
      </Table>
      {changing ? <SettingDialog setting={changing} onClose={() => setChanging(null)} /> : null}
    </section>
  )
}
