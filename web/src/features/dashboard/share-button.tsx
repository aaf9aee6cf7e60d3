import { Mail, Share2 } from 'lucide-react'
import { CopyButton } from '@/components/copy-button'
import { riskText } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import { Popover } from '@/components/ui/popover'
import { useProductName } from '@/lib/platform'
import { toasts } from '@/lib/toast-queue'

/** Whoever receives the link also receives what it may cost, and what the sender gains by it. */
function shareText(product: string): string {
  return `Join me on ${product}. I may earn a bonus if you buy a package. ${riskText}`
}

/** The system's own share sheet where there is one, else the text to copy or mail. */
export function ShareButton({ link }: { link: string }) {
  const product = useProductName()
  const text = shareText(product)
  const whole = `${text}\n${link}`
  if (typeof navigator.share === 'function') {
    const share = () =>
      navigator.share({ title: product, text, url: link }).catch((error: unknown) => {
        if (!(error instanceof DOMException && error.name === 'AbortError'))
          toasts.error('Failed to share link')
      })
    return (
      <Button variant="outline" onClick={() => void share()}>
        <Share2 aria-hidden />
        Share
      </Button>
    )
  }
  return (
    <Popover
      align="start"
      className="flex flex-col gap-3"
      trigger={
        <Button variant="outline">
          <Share2 aria-hidden />
          Share
        </Button>
      }
    >
      {() => (
        <>
          <p className="whitespace-pre-line">{whole}</p>
          <div className="flex flex-wrap gap-2">
            <CopyButton text={whole} what="text" size="compact">
              Copy text
            </CopyButton>
            <Button asChild variant="outline" size="compact">
              <a href={`mailto:?subject=${encodeURIComponent(product)}&body=${encodeURIComponent(whole)}`}>
                <Mail aria-hidden />
                Email
              </a>
            </Button>
          </div>
        </>
      )}
    </Popover>
  )
}
