import { ChevronRight, CircleCheck, Circle } from 'lucide-react'
import { Link } from 'react-router'
import type { Verification } from '@/lib/member'
import { formatMoney } from '@/lib/money'
import { paths } from '@/lib/paths'
import { Notice } from './notice'
import { VerificationGauge } from './verification-gauge'

interface Step {
  done: boolean
  label: string
  to: string
}

function stepsOf(verification: Verification, packageToo: boolean): Step[] {
  const steps = [
    { done: verification.hasProfile, label: 'Profile: username and email', to: paths.profile },
    { done: verification.hasWallet, label: 'Settings: TRC20 wallet address', to: paths.settings },
  ]
  if (!packageToo) return steps
  const missing = Number(verification.packageValue) > 0 && !verification.sufficientCashIn
  const label = missing
    ? `Package: ${formatMoney(verification.cashInAmount)} of ${formatMoney(verification.packageValue)} cash-in`
    : 'Package: a funded package'
  return [
    ...steps,
    {
      done: verification.sufficientCashIn && Number(verification.packageValue) > 0,
      label,
      to: paths.deposit,
    },
  ]
}

interface NotReadyProps {
  verification: Verification
  /** Says what cannot be done yet (specification S25.3, S25.4). */
  text: string
  /** Withdrawals need a funded package as well. */
  packageToo?: boolean
}

/** Why a form is not there yet, and the steps that lead to it; nothing else. */
export function NotReady({ verification, text, packageToo = false }: NotReadyProps) {
  return (
    <div className="flex max-w-[560px] flex-col gap-5">
      <Notice tone="warning">{text}</Notice>
      <VerificationGauge verification={verification} className="[--ground:var(--background)]" />
      <ul className="divide-y border-y">
        {stepsOf(verification, packageToo).map((step) => (
          <li key={step.to} className="flex min-h-14 items-center gap-3">
            {step.done ? (
              <CircleCheck className="size-5 stroke-[1.75] text-positive" aria-label="Done" />
            ) : (
              <Circle className="size-5 stroke-[1.75] text-muted-foreground" aria-label="To do" />
            )}
            <span className="min-w-0 grow">{step.label}</span>
            {step.done ? null : (
              <Link
                to={step.to}
                className="inline-flex min-h-11 items-center gap-1 rounded-mark font-semibold text-primary hover:underline"
                aria-label={`Open ${step.label}`}
              >
                Open
                <ChevronRight className="size-4" aria-hidden />
              </Link>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
