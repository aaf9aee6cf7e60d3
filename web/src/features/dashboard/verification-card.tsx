import { CircleCheck } from 'lucide-react'
import { Address } from '@/components/address'
import { VerificationGauge } from '@/components/verification-gauge'
import { Money } from '@/components/money'
import type { Member } from '@/lib/member'

/** For an account that is complete; what another one lacks is the first steps' card. */
export function VerificationCard({ member }: { member: Member }) {
  const { verification, profile } = member
  return (
    <section aria-labelledby="verification" className="card-box flex flex-col">
      <h2 id="verification" className="text-section">
        Verification
      </h2>
      <VerificationGauge verification={verification} className="mt-1" />
      <p className="mt-3 flex items-start gap-2.5 lg:mb-6">
        <CircleCheck className="mt-0.5 size-5 stroke-[1.75] text-positive" aria-hidden />
        {verification.stepMessage}
      </p>
      <dl className="mt-auto hidden divide-y border-t lg:block">
        <Row name="Package">
          {profile.package_label}, <Money value={profile.package_value} />
        </Row>
        <Row name="Wallet">
          {profile.trc20_wallet_address ? (
            <Address value={profile.trc20_wallet_address} short check={profile.wallet_checksum_ok} />
          ) : (
            'Not set'
          )}
        </Row>
      </dl>
    </section>
  )
}

function Row({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="flex items-center justify-between gap-4 py-1.5 text-compact last:pb-0">
      <dt className="text-muted-foreground">{name}</dt>
      <dd className="text-right">{children}</dd>
    </div>
  )
}
