import { useQuery } from '@tanstack/react-query'
import { RotateCw, ZoomIn, ZoomOut } from 'lucide-react'
import { useState } from 'react'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { Skeleton } from '@/components/ui/skeleton'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { receiptQuery } from './admin-api'

const zooms = [1, 1.5, 2, 3] as const

/** The receipt as the member sent it. The link lives 60 seconds; a new one is asked for when it has run out. */
export function ReceiptViewer({
  receiptUrl,
  member,
  onClose,
}: {
  receiptUrl: string
  member: string
  onClose: () => void
}) {
  const receipt = useQuery(receiptQuery(receiptUrl))
  const [zoom, setZoom] = useState(0)
  const [turned, setTurned] = useState(0)
  const [renewed, setRenewed] = useState(false)
  const scale = zooms[zoom] ?? 1
  const isPdf = receiptUrl.toLowerCase().endsWith('.pdf')

  // A signature that has run out leads nowhere. The window is opened by the press itself, or it would be blocked.
  async function openPdf() {
    const shown = window.open('about:blank')
    const { data } = await receipt.refetch()
    if (!shown) return
    if (data === undefined) {
      shown.close()
      return
    }
    shown.opener = null
    shown.location.replace(data)
  }

  function unreadable() {
    if (!renewed) {
      setRenewed(true)
      void receipt.refetch()
      return
    }
    toasts.error('Error', { description: 'Failed to display receipt image' })
    onClose()
  }

  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent title={`Receipt of ${member}`} className="md:w-[min(880px,calc(100vw-48px))]">
        <div className="mb-3 flex flex-wrap gap-2">
          <Button variant="outline" size="compact" disabled={zoom === 0} onClick={() => setZoom(zoom - 1)}>
            <ZoomOut aria-hidden />
            Zoom out
          </Button>
          <Button
            variant="outline"
            size="compact"
            disabled={zoom === zooms.length - 1}
            onClick={() => setZoom(zoom + 1)}
          >
            <ZoomIn aria-hidden />
            Zoom in
          </Button>
          <Button variant="outline" size="compact" onClick={() => setTurned((turned + 90) % 360)}>
            <RotateCw aria-hidden />
            Rotate
          </Button>
          <Button
            variant="outline"
            size="compact"
            disabled={zoom === 0 && turned === 0}
            onClick={() => {
              setZoom(0)
              setTurned(0)
            }}
          >
            Fit
          </Button>
        </div>
        {receipt.isError ? (
          <Notice tone="negative" role="alert">
            {errorText(receipt.error, 'Failed to load receipt image')}
          </Notice>
        ) : receipt.data === undefined ? (
          <Skeleton className="h-96 w-full" />
        ) : isPdf ? (
          <p>
            This receipt is a PDF.{' '}
            <Button variant="link" size="text" onClick={() => void openPdf()}>
              Open it in a new tab
            </Button>
          </p>
        ) : (
          <div className="max-h-[64dvh] overflow-auto rounded-control border bg-muted">
            <img
              src={receipt.data}
              alt={`Receipt that ${member} sent`}
              onError={unreadable}
              className="mx-auto block max-w-none transition-transform"
              style={{ width: `${scale * 100}%`, rotate: `${turned}deg` }}
            />
          </div>
        )}
      </DialogContent>
    </Dialog>
  )
}
