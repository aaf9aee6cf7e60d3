import { ArrowRight, Check } from 'lucide-react'
import { useId } from 'react'
import { Link } from 'react-router'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import { Popover } from '@/components/ui/popover'
import { VerificationGauge } from '@/components/verification-gauge'
import { cn } from '@/lib/cn'
import { restToSend, type DepositRest } from '@/lib/deposit-rest'
import type { Member, PendingRequest } from '@/lib/member'
import { formatMoney } from '@/lib/money'
import { paths } from '@/lib/paths'
import type { Package } from '@/lib/platform'
import { ReviewProgress } from './in-review-card'
import { nextStepOf, pendingDeposit, stepRowsOf, type StepRow } from './next-steps'

interface FirstStepsCardProps {
  member: Member
  packages: Package[]
}

/** The one next step, large, with the only filled button of the page; below it all four. */
export function FirstStepsCard({ member, packages }: FirstStepsCardProps) {
  const waiting = pendingDeposit(member)
  return (
    <section aria-labelledby="verification" className="card-box flex flex-col md:p-7">
      {waiting ? (
        <Waiting message={member.verification.stepMessage} deposit={waiting} />
      ) : (
        <NextStep member={member} />
      )}
      <VerificationGauge verification={member.verification} className="mt-8" />
      <ol aria-label="Steps" className="mt-3 border-t">
        {stepRowsOf(member, packages).map((row, index) => (
          <Row key={row.name} row={row} number={index + 1} />
        ))}
      </ol>
    </section>
  )
}

function NextStep({ member }: { member: Member }) {
  const step = nextStepOf(member)
  return (
    <>
      <div className="flex flex-wrap justify-between gap-x-4 text-compact text-muted-foreground">
        <p>Your next step, {step.number} of 4</p>
        <p>{step.time}</p>
      </div>
      <h2 id="verification" className="mt-2 text-title-phone md:text-title">
        {step.title}
      </h2>
      <p className="mt-2 text-lead text-muted-foreground">
        <span>{member.verification.stepMessage}</span>
        <span aria-hidden>.</span> <span>{step.needs}</span>
      </p>
      <div className="mt-5 flex flex-wrap items-center gap-x-6 gap-y-1">
        <Button asChild size="wide" className="max-sm:w-full">
          <Link to={step.action.to}>
            {step.action.label}
            <ArrowRight aria-hidden />
          </Link>
        </Button>
        {step.more ? (
          <Button asChild variant="link" className="max-sm:w-full">
            <Link to={step.more.to}>{step.more.label}</Link>
          </Button>
        ) : null}
        {step.number === 2 ? <WhatIsTrc20 /> : null}
      </div>
      {step.number > 2 ? <RiskLine className="mt-4 text-muted-foreground" /> : null}
    </>
  )
}

/** A part did not arrive: the one next step is to send it. */
function RestMissing({ message, deposit, rest }: WaitingProps & { rest: DepositRest }) {
  return (
    <>
      <p className="text-compact text-muted-foreground">{message}</p>
      <h2 id="verification" className="mt-2 text-title-phone md:text-title">
        {formatMoney(rest.missing)} of your deposit of {formatMoney(deposit.amount)} is missing
      </h2>
      <p className="mt-2 text-lead text-muted-foreground">
        {formatMoney(rest.received_amount)} arrived. Send the rest, then add the reference of that transfer.
      </p>
      <Button asChild size="wide" className="mt-5 max-sm:w-full sm:self-start">
        <Link to={paths.deposit}>
          Send the rest
          <ArrowRight aria-hidden />
        </Link>
      </Button>
      <RiskLine className="mt-4 text-muted-foreground" />
    </>
  )
}

interface WaitingProps {
  message: string
  deposit: PendingRequest
}

/** The money is under way: nothing here asks for it again, but for what is missing of it. */
function Waiting({ message, deposit }: WaitingProps) {
  const missing = restToSend(deposit)
  if (missing) return <RestMissing message={message} deposit={deposit} rest={missing} />
  return (
    <>
      <p className="text-compact text-muted-foreground">{message}</p>
      <h2 id="verification" className="mt-2 text-title-phone md:text-title">
        Your deposit of {formatMoney(deposit.amount)} is waiting for review
      </h2>
      <p className="mt-2 text-lead">
        <span className="font-semibold">Nothing to do now.</span>{' '}
        <span className="text-muted-foreground">Do not send it again.</span>
      </p>
      <ReviewProgress request={deposit} className="mt-4" />
      <Button asChild variant="outline" className="mt-4 max-sm:w-full sm:self-start">
        <Link to={paths.deposit}>See your deposit</Link>
      </Button>
    </>
  )
}

function WhatIsTrc20() {
  return (
    <Popover
      align="start"
      trigger={
        <Button variant="link" className="max-sm:w-full">
          What is a TRC20 address?
        </Button>
      }
    >
      {() => (
        <p>
          The address at which you receive USDT on the Tron network. Your wallet app or exchange shows it
          under Receive or Deposit: choose USDT and the network TRC20.
        </p>
      )}
    </Popover>
  )
}

const words = { done: 'Done', now: 'Now', review: 'In review', next: '' }

function Row({ row, number }: { row: StepRow; number: number }) {
  const { name, text, state } = row
  const isCurrent = state === 'now' || state === 'review'
  const id = useId()
  return (
    <li
      aria-labelledby={id}
      aria-current={isCurrent ? 'step' : undefined}
      className="flex items-center gap-4 border-b py-3 last:border-b-0 last:pb-0"
    >
      <span
        aria-hidden
        className={cn(
          'tabular flex size-7 shrink-0 items-center justify-center rounded-badge border text-compact font-semibold',
          state === 'done' && 'border-transparent bg-positive-soft text-positive',
          isCurrent && 'border-primary bg-primary text-primary-foreground',
          state === 'next' && 'border-input text-muted-foreground',
        )}
      >
        {state === 'done' ? <Check className="size-4" /> : number}
      </span>
      <span className="min-w-0 grow">
        <span id={id} className={cn('block font-semibold', state === 'next' && 'text-muted-foreground')}>
          {name}
        </span>
        <span className="block text-compact text-muted-foreground wrap-anywhere">{text}</span>
      </span>
      <span className={cn('shrink-0 text-compact', isCurrent && 'font-semibold text-primary')}>
        {words[state]}
      </span>
    </li>
  )
}
