import { Button } from '@/components/ui/button'
import { toasts } from '@/lib/toast-queue'
import { signOwnReceipt } from './api'

/** Opens what the member sent as proof, in a window of its own. */
export function ReceiptLink({ receiptUrl }: { receiptUrl: string }) {
  // Opened by the press itself, or the browser would block it.
  async function show(): Promise<void> {
    const shown = window.open('about:blank')
    try {
      const link = await signOwnReceipt(receiptUrl)
      if (!shown) return
      shown.opener = null
      shown.location.replace(link)
    } catch {
      shown?.close()
      toasts.error('The receipt could not be opened. Please try again.')
    }
  }

  return (
    <Button variant="link" size="text" onClick={() => void show()}>
      View receipt
    </Button>
  )
}
