import { cn } from '@/lib/cn'
import { ProductName } from './product-name'

/** The name, ended by one amber square: the lamp. */
export function Wordmark({ className }: { className?: string }) {
  return (
    <span className={cn('font-title text-section font-semibold whitespace-nowrap', className)}>
      <ProductName />
      <span aria-hidden className="ml-[3px] inline-block size-[7px] rounded-mark bg-lantern" />
    </span>
  )
}
