import { CircleAlert } from 'lucide-react'
import { useId, type ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { Label } from './ui/label'

export interface FieldControl {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': true | undefined
}

interface FieldProps {
  label: ReactNode
  hint?: ReactNode
  error?: ReactNode
  /** What stands under the field and is not an error, such as "Available". Announced politely. */
  note?: ReactNode
  className?: string
  children: (control: FieldControl) => ReactNode
}

export function ErrorLine({
  id,
  children,
  className,
}: {
  id?: string
  children: ReactNode
  className?: string
}) {
  return (
    <span id={id} className={cn('flex items-start gap-1.5 text-compact text-destructive', className)}>
      <CircleAlert className="mt-0.5 size-4" aria-hidden />
      <span>{children}</span>
    </span>
  )
}

/** Label above, hint, field, then error or note; wired so that a screen reader hears all of it. */
export function Field({ label, hint, error, note, className, children }: FieldProps) {
  const id = useId()
  const parts = [hint ? `${id}-hint` : '', error ? `${id}-error` : '', note ? `${id}-note` : ''].filter(
    Boolean,
  )
  return (
    <div className={cn('flex flex-col gap-1', className)}>
      <Label htmlFor={id}>{label}</Label>
      {hint ? (
        <span id={`${id}-hint`} className="text-compact text-muted-foreground">
          {hint}
        </span>
      ) : null}
      {children({
        id,
        'aria-describedby': parts.length > 0 ? parts.join(' ') : undefined,
        'aria-invalid': error ? true : undefined,
      })}
      {error ? <ErrorLine id={`${id}-error`}>{error}</ErrorLine> : null}
      <span id={`${id}-note`} aria-live="polite" className="text-compact empty:hidden">
        {note}
      </span>
    </div>
  )
}
