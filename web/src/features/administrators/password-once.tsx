import { CopyButton } from '@/components/copy-button'
import { Notice } from '@/components/notice'

/** A password that was just made: it is not shown again. */
export function PasswordOnce({ email, password }: { email: string; password: string }) {
  return (
    <Notice tone="warning" role="status" title={`Password of ${email}`}>
      <p className="mb-2">Shown only once. Share it securely; they can change it in Settings.</p>
      <p className="flex flex-wrap items-center gap-3">
        <span className="font-mono break-all">{password}</span>
        <CopyButton text={password} what="password" size="compact">
          Copy password
        </CopyButton>
      </p>
    </Notice>
  )
}
