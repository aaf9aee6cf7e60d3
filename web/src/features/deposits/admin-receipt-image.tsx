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

/** As large as the box allows, in width and in height, times the zoom. */
function fitting(scale: number, shape: number) {
  return { width: `min(${scale * 100}%, ${scale * shape * 63}dvh)`, aspectRatio: shape }
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
  // Width by height, once the picture is there.
  const [shape, setShape] = useState(1)

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
    <div
      role="group"
      aria-label="Receipt"
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keys
      tabIndex={0}
      className="max-h-[64dvh] overflow-auto rounded-control border bg-muted"
    >
      <div
        className="relative mx-auto overflow-hidden"
        style={fitting(scale, turned % 180 === 0 ? shape : 1 / shape)}
      >
        <img
          src={receipt.data}
          alt={`Receipt that ${member} sent`}
          onError={unreadable}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
            setShape(naturalWidth / naturalHeight)
          }
          className="absolute top-1/2 left-1/2 max-w-none -translate-1/2 transition-[rotate]"
          style={{ width: turned % 180 === 0 ? '100%' : `${shape * 100}%`, rotate: `${turned}deg` }}
        />
      </div>
    </div>
  )
}
