import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

/** Edges and colours that every field shares. 16 px on phones, so that nothing zooms. */
export const fieldStyles =
  'w-full min-w-0 rounded-control border border-input bg-card px-3 text-field text-foreground placeholder:text-muted-foreground md:text-body disabled:cursor-not-allowed disabled:bg-muted disabled:text-muted-foreground aria-invalid:border-destructive aria-invalid:ring-1 aria-invalid:ring-destructive'

export function Input({ className, ...rest }: ComponentProps<'input'>) {
  return <input className={cn(fieldStyles, 'h-11 read-only:bg-muted', className)} {...rest} />
}

/** Grows with its text, so that a long reference is never half hidden. */
export function Textarea({ className, ...rest }: ComponentProps<'textarea'>) {
  return (
    <textarea
      className={cn(fieldStyles, 'field-sizing-content min-h-22 py-2.5 read-only:bg-muted', className)}
      {...rest}
    />
  )
}
