import { Check, Copy } from 'lucide-react'
import { useEffect, useState, type ComponentProps } from 'react'
import { Button } from './ui/button'

interface CopyButtonProps extends Omit<
  ComponentProps<typeof Button>,
  'children' | 'onClick' | 'onCopy' | 'asChild'
> {
  text: string
  /** What is copied, for the name of the button: "address". */
  what: string
  /** Shown beside the icon; without it the button is an icon. */
  children?: string
  onCopied?: () => void
  onFailed?: () => void
}

/** Copies, ticks for 2 s and says so. */
export function CopyButton({ text, what, children, onCopied, onFailed, size, ...rest }: CopyButtonProps) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 2000)
    return () => clearTimeout(timer)
  }, [copied])

  async function copy() {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      onCopied?.()
    } catch {
      onFailed?.()
    }
  }

  return (
    <>
      <Button
        variant="outline"
        size={size ?? (children ? 'default' : 'icon')}
        aria-label={children ? undefined : `Copy ${what}`}
        title={children ? undefined : `Copy ${what}`}
        {...rest}
        onClick={() => void copy()}
      >
        {copied ? <Check aria-hidden /> : <Copy aria-hidden />}
        {children}
      </Button>
      <span role="status" className="sr-only">
        {copied ? `Copied ${what}` : ''}
      </span>
    </>
  )
}
