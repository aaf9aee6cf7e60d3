import { Address } from '@/components/address'
import { CopyButton } from '@/components/copy-button'
import { Facts } from '@/components/review-dialog'
import { Timestamp } from '@/components/timestamp'
import { Sheet, SheetContent } from '@/components/ui/sheet'
import type { AuditEntry } from './api'
import { actionWords, fieldWords, noted, requestOf, roleWords } from './words'

// They stand above what was noted of the act itself.
const context = ['actor_role', 'request_id']

/** One recorded act with everything that was noted of it. */
export function AuditSheet({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const fields = Object.entries(entry.payload ?? {}).filter(([field]) => !context.includes(field))
  const request = requestOf(entry)
  return (
    <Sheet open onOpenChange={(open) => !open && onClose()}>
      <SheetContent side="right" title={actionWords(entry.action)}>
        <Facts
          facts={[
            { label: 'Time', value: <Timestamp value={entry.at} exact /> },
            { label: 'Actor', value: entry.actor_name ?? entry.actor },
            { label: 'Role', value: roleWords(entry) },
            {
              label: 'Target',
              value: entry.object_id ? <Address value={entry.object_id} what="target" copy /> : 'None',
            },
            {
              label: 'Request ID',
              value: request ? (
                <span className="inline-flex max-w-full items-center gap-1.5">
                  <span className="font-mono break-all">{request}</span>
                  <CopyButton text={request} what="request id" variant="ghost" size="icon-compact" />
                </span>
              ) : (
                'None'
              ),
            },
            { label: 'Number', value: entry.seq.toLocaleString('en-US') },
          ]}
        />
        <h3 className="mt-6 mb-2 text-section">Noted</h3>
        {fields.length > 0 ? (
          <Facts
            facts={fields.map(([field, value]) => {
              const { text, mono } = noted(field, value)
              return {
                label: fieldWords(field),
                value: <span className={mono ? 'font-mono break-all' : 'break-words'}>{text}</span>,
              }
            })}
          />
        ) : (
          <p className="text-muted-foreground">No further details.</p>
        )}
      </SheetContent>
    </Sheet>
  )
}
