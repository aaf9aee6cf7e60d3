import { Check } from 'lucide-react'
import * as Primitive from 'radix-ui/checkbox'
import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

export function Checkbox({ className, ...rest }: ComponentProps<typeof Primitive.Root>) {
  return (
    <Primitive.Root
      className={cn(
        'relative size-5 shrink-0 rounded-[5px] border border-input bg-card text-primary-foreground after:absolute after:-inset-3 data-[state=checked]:border-primary data-[state=checked]:bg-primary aria-invalid:border-destructive aria-invalid:ring-1 aria-invalid:ring-destructive',
        className,
      )}
      {...rest}
    >
      <Primitive.Indicator className="flex items-center justify-center">
        <Check className="size-4 stroke-[2.5]" aria-hidden />
      </Primitive.Indicator>
    </Primitive.Root>
  )
}
