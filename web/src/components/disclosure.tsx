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
        <h2 className="font-sans text-body font-normal tracking-normal">
          <button
            type="button"
            aria-expanded={open}
            aria-controls={id}
            onClick={() => onOpenChange(!open)}
            className="-my-1 flex min-h-11 w-full items-center gap-4 rounded-mark text-left"
          >
            {Icon ? <Icon className="size-5 stroke-[1.75] text-muted-foreground" aria-hidden /> : null}
            <span className="min-w-0 grow">
              <span id={`${id}-title`} className="block font-semibold">
                {title}
              </span>
              {note ? <span className="block text-compact text-muted-foreground">{note}</span> : null}
            </span>
            <ChevronDown className={cn('size-5 stroke-[1.75]', open && 'rotate-180')} aria-hidden />
          </button>
        </h2>
      )}
      <div id={id} hidden={!bare && !open} className={bare ? undefined : 'pt-6'}>
        {children}
      </div>
    </section>
  )
}
