import { ExternalLink } from 'lucide-react'
import { shortAddress } from '@/lib/address'
import { cn } from '@/lib/cn'
import { explorerLink } from '@/lib/explorer'
import { usePlatform } from '@/lib/platform'
import { Address } from './address'
import { CopyButton } from './copy-button'

interface ReferenceProps {
  value: string
  /** First six and last four characters; the whole on hover and to a screen reader. */
  short?: boolean
  copy?: boolean
  what?: string
  className?: string
}

/** What a transfer is known by. A transaction hash leads to its page at the operator's block explorer. */
export function Reference({ value, short, copy, what = 'reference', className }: ReferenceProps) {
  const link = explorerLink(usePlatform().data?.explorer_url, value)
  return (
    <span className={cn('inline-flex max-w-full items-start gap-1.5', className)}>
      {short ? (
        <Address value={value} short what={what} />
      ) : (
        <span className="min-w-0 font-mono text-compact break-all">{value}</span>
      )}
      {link ? (
        <a
          href={link}
          target="_blank"
          rel="noopener noreferrer"
          aria-label={`Open ${what} ${shortAddress(value)} in the block explorer, in a new tab`}
          title="Open in the block explorer"
          className="relative z-10 inline-flex size-6 shrink-0 items-center justify-center rounded-mark text-primary hover:text-primary-hover pointer-coarse:-m-2.5 pointer-coarse:size-11"
        >
          <ExternalLink className="size-4" aria-hidden />
        </a>
      ) : null}
      {copy ? (
        <CopyButton text={value} what={what} variant="ghost" size="icon-compact" className="-my-1.5" />
      ) : null}
    </span>
  )
}
