import { TriangleAlert } from 'lucide-react'
import { CopyButton } from '@/components/copy-button'
import { QrCode } from '@/components/qr-code'
import { groupedAddress } from '@/lib/address'
import { cn } from '@/lib/cn'

interface DepositAddressProps {
  address: string
  /** Marked so that nobody takes it for a real one. */
  sample: boolean
}

export function DepositAddress({ address, sample }: DepositAddressProps) {
  return (
    <section aria-labelledby="where-to-send">
      <h2 id="where-to-send" className="text-section">
        Where to send
      </h2>
      <div className={cn('mt-2 overflow-hidden rounded-card border bg-card', sample && 'border-warning')}>
        {sample ? <SampleStrip /> : null}
        <div className="flex flex-col items-center gap-4 p-4 sm:flex-row sm:items-stretch sm:gap-6 md:p-5">
          <QrCode
            text={address}
            sample={sample}
            label={sample ? 'QR code of a sample address' : 'QR code of the deposit address'}
          />
          <div className="flex w-full min-w-0 grow flex-col">
            <span className="text-compact text-muted-foreground">USDT deposit address, TRC20</span>
            <span className="font-mono text-lead break-words">{groupedAddress(address)}</span>
            <span className="mt-1 text-caption text-muted-foreground">
              Compare the first 6 and last 4 after pasting.
            </span>
            <CopyButton
              text={address}
              what="deposit address"
              className="mt-3 w-full sm:mt-auto sm:w-auto sm:self-start"
            >
              Copy address
            </CopyButton>
          </div>
        </div>
      </div>
    </section>
  )
}

export function SampleStrip() {
  return (
    <div className="warning-hatch border-b p-2.5">
      <p className="inline-flex max-w-full items-center gap-2 rounded-badge bg-card px-2 py-1 font-semibold text-warning">
        <TriangleAlert className="size-5 stroke-[1.75]" aria-hidden />
        Sample address. Do not send money.
      </p>
    </div>
  )
}
