import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import type { Alarm } from './api'
import { differencesOf } from './words'

/** Where a row and its entry of the audit log say different things. */
export function DifferencesTable({ alarm }: { alarm: Alarm }) {
  const differences = differencesOf(alarm.details)
  if (differences.length === 0) return null
  return (
    <div className="mt-3 max-w-2xl">
      <Table>
        <caption className="sr-only">What the audit log and the row say</caption>
        <thead>
          <tr>
            <TableHead>Figure</TableHead>
            <TableHead>In the audit log</TableHead>
            <TableHead>In the row</TableHead>
          </tr>
        </thead>
        <tbody>
          {differences.map(({ name, entry, row }) => (
            <TableRow key={name}>
              <TableCell className="h-11">{name}</TableCell>
              <TableCell className="h-11 break-all">{entry}</TableCell>
              <TableCell className="h-11 font-semibold break-all">{row}</TableCell>
            </TableRow>
          ))}
        </tbody>
      </Table>
    </div>
  )
}
