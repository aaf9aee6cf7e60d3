import { CircleCheck } from 'lucide-react'
import { Link } from 'react-router'
import { Address } from '@/components/address'
import { VerificationGauge } from '@/components/verification-gauge'
import { Money } from '@/components/money'
import { Button } from '@/components/ui/button'
import type { Member, VerificationStep } from '@/lib/member'
import { paths } from '@/lib/paths'

const nextSteps: Record<Exclude<VerificationStep, 'complete'>, { to: string; label: string }> = {
  profile: { to: paths.profile, label: 'Complete profile' },
  wallet: { to: paths.settings, label: 'Add wallet address' },
  package: { to: paths.deposit, label: 'Go to deposit' },
}

export function VerificationCard({ member }: { member: Member }) {
  const { verification, profile } = member
  const step = verification.verificationStep
  return (
    <section aria-labelledby="verification" className="card-box flex flex-col">
      <h2 id="verification" className="text-section">
        Verification
      </h2>
      <VerificationGauge verification={verification} className="mt-1" />
      {step === 'complete' ? (
        <>
          <p className="mt-3 flex items-start gap-2.5">
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
        </>
      ) : (
        <>
          <p className="mt-3">{verification.stepMessage}</p>
          <div className="mt-auto pt-4">
            <Button asChild variant="outline">
              <Link to={nextSteps[step].to}>{nextSteps[step].label}</Link>
            </Button>
          </div>
        </>
      )}
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
