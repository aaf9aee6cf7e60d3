import { cva, type VariantProps } from 'class-variance-authority'
import { LoaderCircle } from 'lucide-react'
import * as Slot from 'radix-ui/slot'
import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

const buttonStyles = cva(
  'relative inline-flex shrink-0 select-none items-center justify-center gap-2 rounded-control text-body font-semibold whitespace-nowrap transition-colors aria-disabled:cursor-not-allowed aria-disabled:border-border aria-disabled:bg-transparent aria-disabled:text-muted-foreground [&_svg]:size-5 [&_svg]:stroke-[1.75]',
  {
    variants: {
      variant: {
        default: 'bg-primary text-primary-foreground hover:bg-primary-hover aria-disabled:border',
        outline: 'border border-input bg-card text-foreground hover:bg-muted',
        destructive: 'bg-destructive text-destructive-foreground hover:opacity-90 aria-disabled:border',
        ghost: 'text-foreground hover:bg-muted',
        link: 'text-primary hover:text-primary-hover hover:underline underline-offset-4',
      },
      size: {
        default: 'h-11 px-4',
        wide: 'h-12 px-5',
        compact: 'h-9 px-3 text-compact pointer-coarse:h-11',
        row: 'h-7 rounded-badge px-2 text-caption max-md:h-11 max-md:px-3 pointer-coarse:h-11 pointer-coarse:px-3 [&_svg]:size-4',
        icon: 'size-11',
        'icon-compact': 'size-9 pointer-coarse:size-11',
        text: 'min-h-6 px-0 text-compact pointer-coarse:min-h-11 [&_svg]:size-4',
      },
    },
    defaultVariants: { variant: 'default', size: 'default' },
  },
)

type Looks = VariantProps<typeof buttonStyles>

/** Never `disabled`, which takes the focus away from who has just pressed: `aria-disabled` leaves it and takes no press. */
interface PressProps extends Omit<ComponentProps<'button'>, 'disabled'>, Looks {
  asChild?: false
  /** The word while the press is being worked on ("Approving..."). The button keeps its width. */
  busy?: string | false | null
}

/** Gives the looks to the single child instead, such as a link, which is pressed and works by itself. */
interface LooksProps extends Omit<ComponentProps<'button'>, 'onClick' | 'disabled'>, Looks {
  asChild: true
  onClick?: never
  busy?: never
}

export function Button({
  className,
  variant,
  size,
  asChild,
  busy,
  children,
  onClick,
  ...rest
}: PressProps | LooksProps) {
  const styles = cn(buttonStyles({ variant, size }), className)
  if (asChild) {
    return (
      <Slot.Root className={styles} {...rest}>
        {children}
      </Slot.Root>
    )
  }
  const held = Boolean(busy) || rest['aria-disabled'] === true
  return (
    <button
      type="button"
      className={styles}
      aria-busy={busy ? true : undefined}
      onClick={held ? (event) => event.preventDefault() : onClick}
      {...rest}
    >
      <span className={cn('contents', busy && '[&>*]:invisible')}>
        {busy ? <span className="invisible inline-flex items-center gap-2">{children}</span> : children}
      </span>
      {busy ? (
        <span className="absolute inset-0 flex items-center justify-center gap-2">
          <LoaderCircle className="animate-spin" aria-hidden />
          {busy}
        </span>
      ) : null}
    </button>
  )
}
