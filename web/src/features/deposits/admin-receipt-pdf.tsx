import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { errorText } from '@/lib/errors'
import { receiptBytesQuery, receiptQuery } from './admin-api'
import type { ShownReceipt } from './admin-receipt-image'

const ReceiptPages = lazy(() => import('./admin-receipt-pages'))

/** A receipt that is a PDF, drawn here; whatever is the matter with it, the browser's own viewer is a press away. */
export function ReceiptPdf({ receiptUrl, member, scale, turned }: ShownReceipt) {
  const bytes = useQuery(receiptBytesQuery(receiptUrl))
  const link = useQuery({ ...receiptQuery(receiptUrl), enabled: false })
  const skeleton = <Skeleton className="h-96 w-full" />

  // A signature that has run out leads nowhere. The window is opened by the press itself, or it would be blocked.
  async function openElsewhere() {
    const shown = window.open('about:blank')
    const { data } = await link.refetch()
    if (!shown) return
    if (data === undefined) {
      shown.close()
      return
    }
    shown.opener = null
    shown.location.replace(data)
  }

  return (
    <>
      {bytes.isError ? (
        <Notice tone="negative" role="alert">
          {errorText(bytes.error, 'Failed to load receipt image')}
        </Notice>
      ) : bytes.data === undefined ? (
        skeleton
      ) : (
        <Suspense fallback={skeleton}>
          <ReceiptPages
            bytes={bytes.data}
            label={`Receipt that ${member} sent`}
            scale={scale}
            turned={turned}
          />
        </Suspense>
      )}
      <p className="mt-3">
        <Button variant="link" size="text" onClick={() => void openElsewhere()}>
          Open the PDF in a new window
        </Button>
      </p>
    </>
  )
}
