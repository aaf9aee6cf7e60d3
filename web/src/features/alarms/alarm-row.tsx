import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { Address } from '@/components/address'
import { Badge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'
import type { Alarm } from './api'
import { DifferencesTable } from './differences-table'
import { RepairsTable } from './repairs-table'
import { figuresOf, namedThing, stopsWords } from './words'

/** Where what an alarm names is found: a row by its member. */
function listOf({ row, username, at_place: place }: Alarm): string | null {
  if (row?.kind === 'administrator') return paths.admin.administrators
  if (place) return `${paths.admin.users}?user=${place.profile_id}`
  if (!row || !username) return null
  const q = encodeURIComponent(username)
  if (row.kind === 'deposit') return `${paths.admin.deposits}?status=all&q=${q}`
  if (row.kind === 'withdrawal') return `${paths.admin.withdrawals}?status=all&q=${q}`
  return `${paths.admin.transactions}?q=${q}`
}

function TextLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Link to={to} className="text-link inline-flex min-h-6 items-center break-all">
      {children}
    </Link>
  )
}

/** What the audit log says of an id, or one entry of it. */
function auditOf(search: string): string {
  return `${paths.admin.audit}?q=${search}`
}

function NamedRow({ alarm }: { alarm: Alarm }) {
  const [thing, list] = [namedThing(alarm), listOf(alarm)]
  // A member stands under Member already.
  if (!thing || alarm.row?.kind === 'member') return null
  const { label, name, id, entry } = thing
  if (entry)
    return (
      <Item label={label}>
        <TextLink to={auditOf(entry)}>{name}</TextLink>
      </Item>
    )
  return (
    <Item label={label}>
      <span className="inline-flex max-w-full flex-wrap items-center gap-x-1.5">
        {list && name ? <TextLink to={list}>{name}</TextLink> : name}
        {id ? (
          <>
            <Address value={id} short what="id" copy />
            <TextLink to={auditOf(id)}>Audit log</TextLink>
          </>
        ) : null}
      </span>
    </Item>
  )
}

function Item({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 items-baseline gap-1.5">
      <dt className="shrink-0 text-muted-foreground">{label}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  )
}

function StopsBadge({ alarm }: { alarm: Alarm }) {
  if (alarm.ended_at) return null
  const tone = alarm.stops ? 'negative' : alarm.acknowledged_at ? 'outline' : 'warning'
  const icon = alarm.stops ? CircleAlert : alarm.acknowledged_at ? CircleCheck : TriangleAlert
  return (
    <Badge tone={tone} icon={icon} className="h-auto py-0.5 text-left">
      {alarm.urgent ? 'Urgent. ' : ''}
      {stopsWords(alarm)}
    </Badge>
  )
}

interface RowProps {
  alarm: Alarm
  onAcknowledge?: () => void
  onRestore?: () => void
}

/** One alarm: what is wrong, what to do, what it concerns, since when, what it stops, who acknowledged it. */
export function AlarmRow({ alarm, onAcknowledge, onRestore }: RowProps) {
  return (
    <li className="flex flex-col gap-x-6 gap-y-3 border-b py-4 md:flex-row md:items-start md:justify-between">
      <div className="min-w-0 grow">
        <StopsBadge alarm={alarm} />
        <p className="mt-1.5 font-semibold break-words">{alarm.problem}</p>
        {alarm.ended_at ? null : <p className="mt-0.5 break-words">{alarm.advice}</p>}
        <dl className="mt-2 flex flex-wrap items-baseline gap-x-5 gap-y-1 text-compact">
          {alarm.rule ? <Item label="Check">{alarm.rule}</Item> : null}
          {alarm.username && alarm.profile_id ? (
            <Item label="Member">
              <TextLink to={`${paths.admin.users}?user=${alarm.profile_id}`}>{alarm.username}</TextLink>
            </Item>
          ) : null}
          <NamedRow alarm={alarm} />
          {figuresOf(alarm.details).map(({ label, value }) => (
            <Item key={label} label={label}>
              {value}
            </Item>
          ))}
          <Item label="Since">
            <Timestamp value={alarm.raised_at} />
          </Item>
          {alarm.ended_at ? (
            <Item label="Over">
              <Timestamp value={alarm.ended_at} />
            </Item>
          ) : null}
          <Item label="Emailed">{alarm.mailed_at ? <Timestamp value={alarm.mailed_at} /> : 'Not yet'}</Item>
        </dl>
        {alarm.acknowledged_at && alarm.acknowledged_by_name ? (
          <p className="mt-1.5 text-compact break-words text-muted-foreground">
            Acknowledged by {alarm.acknowledged_by_name} <Timestamp value={alarm.acknowledged_at} />:{' '}
            {alarm.reason}
          </p>
        ) : null}
        <DifferencesTable alarm={alarm} />
        <RepairsTable alarm={alarm} />
      </div>
      <div className="flex shrink-0 gap-2 self-start">
        {onRestore && alarm.rule === 'I51' && alarm.profile_id ? (
          <Button
            variant="outline"
            size="row"
            aria-label={`Restore ${alarm.username ?? 'the member'}`}
            onClick={onRestore}
          >
            Restore
          </Button>
        ) : null}
        {onAcknowledge && !alarm.acknowledged_at ? (
          <Button
            variant="outline"
            size="row"
            aria-label={`Acknowledge: ${alarm.problem}${alarm.username ? ` ${alarm.username}` : ''}`}
            onClick={onAcknowledge}
          >
            Acknowledge
          </Button>
        ) : null}
      </div>
    </li>
  )
}
