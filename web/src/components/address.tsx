import { TriangleAlert } from 'lucide-react'
import { groupedAddress, isTrc20, shortAddress } from '@/lib/address'
import { cn } from '@/lib/cn'
import { CopyButton } from './copy-button'

interface AddressProps {
  value: string
  /** First six and last four characters; the whole on hover and to a screen reader. */
  short?: boolean
  copy?: boolean
  /** False when the checksum of the address failed: a warning stands beside it. */
  check?: boolean | null
  what?: string
  className?: string
}

/** A wallet address, a reference or an id: mono, a wallet in groups of four when whole. */
export function Address({ value, short, copy, check, what = 'address', className }: AddressProps) {
  return (
    <span className={cn('inline-flex max-w-full items-center gap-1.5', className)}>
      {short ? (
        <span title={value} className="font-mono text-compact whitespace-nowrap">
          <span aria-hidden>{shortAddress(value)}</span>
          <span className="sr-only">{value}</span>
        </span>
      ) : (
        <span className={cn('font-mono', isTrc20(value) ? 'break-words' : 'break-all')}>
          {isTrc20(value) ? groupedAddress(value) : value}
        </span>
      )}
      {check === false ? (
        <span
          className="inline-flex items-center text-warning"
          title="The checksum of this address is wrong."
        >
          <TriangleAlert className="size-4" aria-hidden />
          <span className="sr-only">The checksum of this address is wrong.</span>
        </span>
      ) : null}
      {copy ? (
        <CopyButton text={value} what={what} variant="ghost" size="icon-compact" className="-my-2" />
      ) : null}
    </span>
  )
}
