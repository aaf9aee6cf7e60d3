import { useQuery } from '@tanstack/react-query'
import { cn } from '@/lib/cn'

interface QrCodeProps {
  text: string
  /** What the code holds, such as "QR code of your referral link". */
  label: string
  /** A band across it, so that no camera reads it. */
  sample?: boolean
  className?: string
}

const quiet = 4

/** Level M with its quiet margin, 200 px, dark on white in both themes: a camera needs that. */
export function QrCode({ text, label, sample = false, className }: QrCodeProps) {
  const code = useQuery({
    queryKey: ['qr-code', text],
    queryFn: async () => {
      const { create } = await import('qrcode')
      return create(text, { errorCorrectionLevel: 'M' }).modules
    },
    staleTime: Infinity,
  })
  const size = (code.data?.size ?? 25) + 2 * quiet
  return (
    <div
      className={cn('relative size-50 shrink-0 overflow-hidden rounded-control border bg-[#fff]', className)}
    >
      {code.data ? (
        <svg
          role="img"
          aria-label={label}
          viewBox={`0 0 ${size} ${size}`}
          className="size-full"
          shapeRendering="crispEdges"
        >
          <path d={outline(code.data)} fill="#0b1d26" />
        </svg>
      ) : null}
      {sample ? (
        <span className="absolute inset-x-0 top-1/2 flex h-8.5 -translate-y-1/2 items-center justify-center border-y-2 border-[#0b1d26] bg-[#fff] text-body font-semibold tracking-[0.08em] text-[#0b1d26]">
          SAMPLE
        </span>
      ) : null}
    </div>
  )
}

interface Modules {
  size: number
  get: (row: number, column: number) => number | boolean
}

function outline(modules: Modules): string {
  const cells: string[] = []
  for (let row = 0; row < modules.size; row += 1) {
    for (let column = 0; column < modules.size; column += 1) {
      if (modules.get(row, column)) cells.push(`M${column + quiet} ${row + quiet}h1v1h-1z`)
    }
  }
  return cells.join('')
}

/** Saves the code of a text as a PNG. */
export async function downloadQrCode(text: string, fileName: string): Promise<void> {
  const { toDataURL } = await import('qrcode')
  const link = document.createElement('a')
  link.href = await toDataURL(text, { errorCorrectionLevel: 'M', width: 800, margin: quiet })
  link.download = fileName
  link.click()
}
