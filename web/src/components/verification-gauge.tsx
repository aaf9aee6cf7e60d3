import type { Verification, VerificationStep } from '@/lib/member'
import { Gauge } from './gauge'

const stops: { step: VerificationStep; label: string }[] = [
  { step: 'profile', label: 'Profile' },
  { step: 'wallet', label: 'Wallet' },
  { step: 'package', label: 'Package' },
  { step: 'complete', label: 'Complete' },
]

/** Four stops; the lamp stands at the one that is to be done now, named in bold. */
export function VerificationGauge({
  verification,
  className,
}: {
  verification: Verification
  className?: string
}) {
  const next = stops.findIndex((stop) => stop.step === verification.verificationStep)
  const complete = verification.verificationStep === 'complete'
  return (
    <Gauge
      kind="progressbar"
      label="Verification"
      valueText={verification.stepMessage}
      value={complete ? 3 : Math.max(0, next)}
      max={3}
      marks={stops.map(({ label }, at) => ({ at, label, strong: !complete && at === next }))}
      className={className}
    />
  )
}
