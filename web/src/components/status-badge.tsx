import { Ban, Check, CircleDashed, Clock, X, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

type Tone = 'positive' | 'warning' | 'negative' | 'outline'

const tones: Record<Tone, { icon: LucideIcon; className: string }> = {
  positive: { icon: Check, className: 'bg-positive-soft text-positive' },
  warning: { icon: Clock, className: 'bg-warning-soft text-warning' },
  negative: { icon: X, className: 'bg-destructive-soft text-destructive' },
  outline: { icon: CircleDashed, className: 'border border-input' },
}

const known: Record<string, Tone> = {
  completed: 'positive',
  approved: 'positive',
  active: 'positive',
  verified: 'positive',
  subscribed: 'positive',
  paying: 'positive',
  funded: 'positive',
  pending: 'warning',
  suspended: 'warning',
  failed: 'negative',
  rejected: 'negative',
  disabled: 'negative',
  voided: 'negative',
}

interface BadgeProps {
  tone?: Tone
  icon?: LucideIcon
  className?: string
  children: ReactNode
}

/** Icon and word in a soft box: never colour alone. */
export function Badge({ tone = 'outline', icon, className, children }: BadgeProps) {
  const Icon = icon ?? tones[tone].icon
  return (
    <span
      className={cn(
        'inline-flex min-h-6 items-center gap-1 rounded-badge px-2 text-caption font-medium',
        tones[tone].className,
        className,
      )}
    >
      <Icon className="size-3.5" aria-hidden />
      {children}
    </span>
  )
}

function word(status: string): string {
  const text = status.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The status of a row, on one line. What the table above does not know is an outline badge with its own word. */
export function StatusBadge({ status, label }: { status: string; label?: string }) {
  return (
    <Badge
      tone={known[status.toLowerCase()] ?? 'outline'}
      icon={status === 'cancelled' ? Ban : undefined}
      className="whitespace-nowrap"
    >
      {label ?? word(status)}
    </Badge>
  )
}
