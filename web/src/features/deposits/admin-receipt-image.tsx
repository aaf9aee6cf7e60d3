import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Notice } from '@/components/notice'
import { Skeleton } from '@/components/ui/skeleton'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { receiptQuery } from './admin-api'

export interface ShownReceipt {
  receiptUrl: string
  member: string
  scale: number
  /** In degrees, to the right. */
  turned: number
}

/** A receipt that is a picture. Its link lives 60 seconds; a new one is asked for when it has run out. */
export function ReceiptImage({
  receiptUrl,
  member,
  scale,
  turned,
  onUnreadable,
}: ShownReceipt & { onUnreadable: () => void }) {
  const receipt = useQuery(receiptQuery(receiptUrl))
  const [renewed, setRenewed] = useState(false)

  function unreadable() {
    if (!renewed) {
      setRenewed(true)
      void receipt.refetch()
      return
    }
    toasts.error('Error', { description: 'Failed to display receipt image' })
    onUnreadable()
  }

  if (receipt.isError) {
    return (
      <Notice tone="negative" role="alert">
        {errorText(receipt.error, 'Failed to load receipt image')}
      </Notice>
    )
  }
  if (receipt.data === undefined) return <Skeleton className="h-96 w-full" />
  return (
    <div className="max-h-[64dvh] overflow-auto rounded-control border bg-muted">
      <img
        src={receipt.data}
        alt={`Receipt that ${member} sent`}
        onError={unreadable}
        className="mx-auto block max-w-none transition-transform"
        style={{ width: `${scale * 100}%`, rotate: `${turned}deg` }}
      />
    </div>
  )
}
