import { useState } from 'react'
import { groupedAddress } from '@/lib/address'
import { CopyButton } from './copy-button'
import { ErrorLine } from './field'
import { QrCode } from './qr-code'

/** What an authenticator app must hold: to scan, to read, to copy. */
export function AuthenticatorSecret({ uri, secret }: { uri: string; secret: string }) {
  const [failed, setFailed] = useState(false)
  return (
    <div className="flex flex-col gap-4">
      <p>Scan this with an authenticator app, or type the secret into it. Then enter the code it shows.</p>
      <div className="flex flex-wrap items-start gap-5">
        <QrCode text={uri} label="QR code for your authenticator app" />
        <div className="min-w-0 grow basis-56">
          <p className="text-compact text-muted-foreground">Secret</p>
          <p className="font-mono break-words">{groupedAddress(secret)}</p>
          <CopyButton
            text={secret}
            what="secret"
            size="compact"
            className="mt-2"
            onFailed={() => setFailed(true)}
          >
            Copy secret
          </CopyButton>
          {failed ? (
            <ErrorLine className="mt-2">Copying did not work. Select the secret by hand.</ErrorLine>
          ) : null}
        </div>
      </div>
    </div>
  )
}
