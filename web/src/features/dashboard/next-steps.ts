import { restText, restToSend } from '@/lib/deposit-rest'
import { compare, formatMoney } from '@/lib/money'
import type { Member, PendingRequest } from '@/lib/member'
import { paths } from '@/lib/paths'
import type { Package } from '@/lib/platform'

/** A stop of the way to a complete account. */
export interface StepRow {
  name: string
  text: string
  state: 'done' | 'now' | 'review' | 'next'
}

interface NextStep {
  /** From 1. */
  number: number
  title: string
  /** What it needs; the sentence of specification S12.1 stands above it. */
  needs: string
  time: string
  action: { label: string; to: string }
  /** Something to read first. */
  more?: { label: string; to: string }
}

/** The first deposit that waits; only that can make an account complete. */
export function pendingDeposit({ pending }: Member): PendingRequest | undefined {
  return pending.find(({ source }) => source === 'deposit')
}

function numberOf({ verification }: Member): number {
  const { verificationStep: step, packageValue } = verification
  if (step === 'profile') return 1
  if (step === 'wallet') return 2
  return Number(packageValue) > 0 ? 4 : 3
}

/** The one thing to do next; not for an account that is complete. */
export function nextStepOf(member: Member): NextStep {
  const number = numberOf(member)
  if (number === 1)
    return {
      number,
      title: 'Complete your profile',
      needs: 'You need a username and an email address that you can open.',
      time: 'about 1 minute',
      action: { label: 'Complete profile', to: paths.profile },
    }
  if (number === 2)
    return {
      number,
      title: 'Add your TRC20 wallet',
      needs: 'Bonuses are paid to this address only. You can change it later in Settings.',
      time: 'about 2 minutes',
      action: { label: 'Add wallet address', to: paths.settings },
    }
  const review = 'Then an administrator reviews it, usually within 24 hours.'
  if (number === 4)
    return {
      number,
      title: 'Complete your package deposit',
      needs: `You need USDT on TRC20 and a receipt of the transfer. ${review}`,
      time: 'about 10 minutes',
      action: { label: 'Go to deposit', to: paths.deposit },
    }
  return {
    number,
    title: 'Choose a package',
    needs: `You need the price in USDT on TRC20 and a picture of the receipt. ${review}`,
    time: 'about 10 minutes',
    action: { label: 'Go to deposit', to: paths.deposit },
    more: { label: 'Compare the packages first', to: paths.packages },
  }
}

/** All four, in the order of specification S12.1: profile, wallet, package, deposit. */
export function stepRowsOf(member: Member, packages: Package[]): StepRow[] {
  const { profile } = member
  const number = numberOf(member)
  const waiting = pendingDeposit(member)
  const missing = waiting && restToSend(waiting)
  const state = (step: number) => (step < number ? 'done' : step === number ? 'now' : 'next')
  const [least, most] = [packages[0], packages.at(-1)]
  const prices = least && most ? `, ${formatMoney(least.value)} to ${formatMoney(most.value)}` : ''
  const held = number > 3 ? profile.package_value : waiting?.amount
  const label = packages.find(({ value }) => held !== undefined && compare(value, held) === 0)?.label
  const chosen = held === undefined ? undefined : `${label ?? 'Package'}, ${formatMoney(held)}`
  return [
    {
      name: 'Profile',
      text: number > 1 ? `${profile.username}, ${profile.email}` : 'Username and email',
      state: state(1),
    },
    {
      name: 'Wallet',
      text: number > 2 ? 'Your TRC20 address is saved' : '34 characters, starts with T',
      state: state(2),
    },
    {
      name: 'Package',
      text: chosen ?? `One of ${packages.length} packages${prices}. The pairing rate follows the package.`,
      state: waiting ? 'done' : state(3),
    },
    {
      name: 'Deposit',
      text: missing
        ? restText(missing)
        : waiting
          ? `${formatMoney(waiting.amount)}, in review`
          : 'Send USDT over TRC20, then the proof. Review usually within 24 hours.',
      state: missing ? 'now' : waiting ? 'review' : state(4),
    },
  ]
}
