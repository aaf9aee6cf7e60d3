import { ChevronDown, type LucideIcon } from 'lucide-react'
import { useId, type ReactNode } from 'react'
import { cn } from '@/lib/cn'

interface DisclosureProps {
  title: string
  /** One quiet line under the title: what is in it, or why it is closed. */
  note?: ReactNode
  icon?: LucideIcon
  open: boolean
  onOpenChange: (open: boolean) => void
  /** Without a header and a box: the same content at the same place, always open. */
  bare?: boolean
  className?: string
  children: ReactNode
}

/** A part of a page behind its title. What is in it stays as it is while it is closed. */
export function Disclosure(props: DisclosureProps) {
  const { title, note, icon: Icon, open, onOpenChange, bare = false, className, children } = props
  const id = useId()
  return (
    <section
      aria-labelledby={bare ? undefined : `${id}-title`}
      className={cn(!bare && 'card-box', className)}
    >
      {bare ? null : (
        <h2 id={`${id}-title`} className="font-sans text-body tracking-normal">
          <button
            type="button"
            aria-expanded={open}
            aria-controls={id}
            aria-describedby={note ? `${id}-note` : undefined}
            onClick={() => onOpenChange(!open)}
            className="flex min-h-11 w-full items-center gap-3 rounded-mark text-left font-semibold"
          >
            {Icon ? <Icon className="size-5 stroke-[1.75] text-muted-foreground" aria-hidden /> : null}
            <span className="min-w-0 grow">{title}</span>
            <ChevronDown className={cn('size-5 stroke-[1.75]', open && 'rotate-180')} aria-hidden />
          </button>
        </h2>
      )}
      {note && !bare ? (
        <p id={`${id}-note`} className={cn('-mt-2 text-compact text-muted-foreground', Icon && 'pl-8')}>
          {note}
        </p>
      ) : null}
      <div id={id} hidden={!bare && !open} className={bare ? undefined : 'pt-6'}>
        {children}
      </div>
    </section>
  )
}
