import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import type { Alarm } from './api'
import { differencesOf } from './words'

/** Where a row and its entry of the audit log, or a stored figure and what it should be, say different things. */
export function DifferencesTable({ alarm }: { alarm: Alarm }) {
  const differences = differencesOf(alarm.details)
  if (differences === null) return null
  return (
    <div className="mt-3 max-w-2xl">
      <Table>
        <caption className="sr-only">{differences.caption}</caption>
        <thead>
          <tr>
            <TableHead>Figure</TableHead>
            {differences.heads.map((head) => (
              <TableHead key={head}>{head}</TableHead>
            ))}
          </tr>
        </thead>
        <tbody>
          {differences.rows.map(({ name, one, other }) => (
            <TableRow key={name}>
              <TableCell className="h-11 [overflow-wrap:normal]">{name}</TableCell>
              <TableCell className="h-11 break-all">{one}</TableCell>
              <TableCell className="h-11 font-semibold break-all">{other}</TableCell>
            </TableRow>
          ))}
        </tbody>
      </Table>
    </div>
  )
}
