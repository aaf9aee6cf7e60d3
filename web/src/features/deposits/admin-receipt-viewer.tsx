import { RotateCw, ZoomIn, ZoomOut } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { ReceiptImage } from './admin-receipt-image'
import { ReceiptPdf } from './admin-receipt-pdf'

const zooms = [1, 1.5, 2, 3] as const

interface ReceiptViewerProps {
  receiptUrl: string
  member: string
  onClose: () => void
}

/** The receipt as the member sent it: a picture, or the pages of a PDF. */
export function ReceiptViewer({ receiptUrl, member, onClose }: ReceiptViewerProps) {
  const [zoom, setZoom] = useState(0)
  const [turned, setTurned] = useState(0)
  const shown = { receiptUrl, member, scale: zooms[zoom] ?? 1, turned }
  const isPdf = receiptUrl.toLowerCase().endsWith('.pdf')

  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent title={`Receipt of ${member}`} className="md:w-[min(880px,calc(100vw-48px))]">
        <div className="mb-3 flex flex-wrap gap-2">
          <Button
            variant="outline"
            size="compact"
            aria-disabled={zoom === 0}
            onClick={() => setZoom(zoom - 1)}
          >
            <ZoomOut aria-hidden />
            Zoom out
          </Button>
          <Button
            variant="outline"
            size="compact"
            aria-disabled={zoom === zooms.length - 1}
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
            aria-disabled={zoom === 0 && turned === 0}
            onClick={() => {
              setZoom(0)
              setTurned(0)
            }}
          >
            Fit
          </Button>
        </div>
        {isPdf ? <ReceiptPdf {...shown} /> : <ReceiptImage {...shown} onUnreadable={onClose} />}
      </DialogContent>
    </Dialog>
  )
}
