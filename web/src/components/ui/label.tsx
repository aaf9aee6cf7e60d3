import * as Primitive from 'radix-ui/label'
import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

export function Label({ className, ...rest }: ComponentProps<typeof Primitive.Root>) {
  return <Primitive.Root className={cn('text-body font-semibold', className)} {...rest} />
}
