import { Download, QrCode as QrIcon } from 'lucide-react'
import { useState } from 'react'
import { CopyButton } from '@/components/copy-button'
import { MemberId } from '@/components/member-id'
import { downloadQrCode, QrCode } from '@/components/qr-code'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import type { MemberProfile } from '@/lib/member'
import { referralLink } from '@/lib/referral-link'
import { toasts } from '@/lib/toast-queue'
import { ShareButton } from './share-button'

export function ReferralCard({
  profile,
  title = 'Referral link',
}: {
  profile: MemberProfile
  title?: string
}) {
  const [shown, setShown] = useState(false)
  const link = referralLink(profile.id)

  async function download() {
    await downloadQrCode(link, `${profile.username ?? profile.id}.png`)
    toasts.success('QR code downloaded!')
  }

  return (
    <section aria-labelledby="referral-link" className="card-box flex flex-col">
      <h2 id="referral-link" className="text-section">
        {title}
      </h2>
      <p className="text-compact text-muted-foreground">
        Anyone who signs up with it becomes your direct referral permanently.
      </p>
      <div className="mt-3 flex gap-2">
        <output
          aria-label="Your referral id"
          className="flex min-h-11 min-w-0 grow items-center rounded-control border border-input bg-muted px-3 text-[0.75rem] leading-4 select-all md:text-compact"
        >
          <MemberId value={profile.id} />
        </output>
        <CopyButton
          text={link}
          what="referral link"
          onCopied={() => toasts.success('Referral link copied to clipboard!')}
          onFailed={() => toasts.error('Failed to copy link')}
        />
      </div>
      <div className="@container mt-3">
        <div className="grid grid-cols-2 gap-2 *:px-2 *:last:col-span-2 @[25rem]:flex @[25rem]:*:px-4">
          <Button variant="outline" aria-expanded={shown} onClick={() => setShown(!shown)}>
            <QrIcon aria-hidden />
            {shown ? 'Hide QR Code' : 'Show QR Code'}
          </Button>
          <Button variant="outline" onClick={() => void download()}>
            <Download aria-hidden />
            Download QR
          </Button>
          <ShareButton link={link} />
        </div>
      </div>
      {shown ? <QrCode text={link} label="QR code of your referral link" className="mt-4" /> : null}
      <RiskLine className="mt-auto pt-4 text-muted-foreground" />
    </section>
  )
}
