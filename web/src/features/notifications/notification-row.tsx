import { createElement } from 'react'
import { Bell, CircleCheck, CircleX, Shield, Users, Wallet, type LucideIcon } from 'lucide-react'
import { Link } from 'react-router'
import { Money } from '@/components/money'
import { Timestamp } from '@/components/timestamp'
import { cn } from '@/lib/cn'
import type { Notification } from './api'

function iconOf(kind: string): LucideIcon {
  if (kind.endsWith('_approved')) return CircleCheck
  if (kind.endsWith('_rejected')) return CircleX
  if (/bonus/.test(kind)) return Wallet
  if (/referral|sign_up|member_joined/.test(kind)) return Users
  if (/password|email|factor|wallet|sign_in|security|account/.test(kind)) return Shield
  return Bell
}

/** A bonus came in. What was refused or taken back moved nothing. */
function Amount({ item }: { item: Notification }) {
  if (item.amount === null) return null
  const movedNothing = /_(rejected|cancelled)$/.test(item.kind)
  return (
    <Money
      value={item.amount}
      signed={/bonus/.test(item.kind)}
      className={movedNothing ? 'text-muted-foreground' : 'font-semibold'}
    />
  )
}

interface NotificationRowProps {
  item: Notification
  onOpen: () => void
}

/** One notice: what happened, how much, when. The whole title is the link where there is something to open. */
export function NotificationRow({ item, onOpen }: NotificationRowProps) {
  const unread = item.read_at === null
  return (
    <div className="flex gap-3 py-3">
      {createElement(iconOf(item.kind), {
        className: cn('mt-0.5 size-5 stroke-[1.75] text-muted-foreground', unread && 'text-primary'),
        'aria-hidden': true,
      })}
      <div className="min-w-0 grow">
        <div className="flex items-start justify-between gap-3">
          <p className={cn('min-w-0', unread && 'font-semibold')}>
            {unread ? <span className="sr-only">Unread: </span> : null}
            {item.link ? (
              <Link to={item.link} onClick={onOpen} className="rounded-mark hover:underline">
                {item.title}
              </Link>
            ) : (
              item.title
            )}
          </p>
          <Amount item={item} />
        </div>
        <p className="text-compact text-muted-foreground">{item.body}</p>
        <Timestamp value={item.created_at} className="text-caption text-muted-foreground" />
      </div>
    </div>
  )
}
