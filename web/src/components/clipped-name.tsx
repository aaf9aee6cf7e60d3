import { cn } from '@/lib/cn'

/** A name in a table, 24 characters wide at most; the whole on hover and to a screen reader. */
export function ClippedName({ name, className }: { name: string; className?: string }) {
  return (
    <span title={name} className={cn('inline-block max-w-[24ch] truncate align-bottom', className)}>
      {name}
    </span>
  )
}
