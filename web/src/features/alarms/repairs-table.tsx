import { Link } from 'react-router'
import { Money } from '@/components/money'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { paths } from '@/lib/paths'
import type { Alarm } from './api'

const bonusWords: Record<string, string> = { referral: 'Referral', pairing: 'Pairing', override: 'Override' }

/** What a repair changed, from what to what. */
export function RepairsTable({ alarm }: { alarm: Alarm }) {
  const repairs = alarm.details.repairs ?? []
  if (repairs.length === 0) return null
  return (
    <div className="mt-3 max-w-2xl">
      <Table>
        <caption className="sr-only">Repaired bonuses</caption>
        <thead>
          <tr>
            <TableHead>Member</TableHead>
            <TableHead>Bonus</TableHead>
            <TableHead data-align="right">Was</TableHead>
            <TableHead data-align="right">Is</TableHead>
          </tr>
        </thead>
        <tbody>
          {repairs.map((repair, index) => {
            const member = alarm.members?.[repair.user_id ?? '']
            const before = alarm.members?.[repair.taken_from ?? '']
            return (
              <TableRow key={repair.bonus_id ?? index}>
                <TableCell className="h-11">
                  {member ? (
                    <Link
                      to={`${paths.admin.users}?user=${member.profile_id}`}
                      className="text-link inline-flex min-h-6 items-center break-all"
                    >
                      {member.username}
                    </Link>
                  ) : (
                    'Unknown'
                  )}
                  {before ? (
                    <span className="text-muted-foreground"> taken from {before.username}</span>
                  ) : null}
                </TableCell>
                <TableCell className="h-11">{bonusWords[repair.bonus_type] ?? repair.bonus_type}</TableCell>
                <TableCell className="h-11" data-align="right">
                  {repair.old_amount === null ? 'None' : <Money value={repair.old_amount} />}
                </TableCell>
                <TableCell className="h-11 font-semibold" data-align="right">
                  {repair.new_amount === null ? 'None' : <Money value={repair.new_amount} />}
                </TableCell>
              </TableRow>
            )
          })}
        </tbody>
      </Table>
    </div>
  )
}
