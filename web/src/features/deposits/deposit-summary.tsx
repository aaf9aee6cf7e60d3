import type { ReactNode } from 'react'
import { Address } from '@/components/address'
import { Money, Percent } from '@/components/money'
import { add, formatMoney, toCents, fromCents, type Decimal } from '@/lib/money'
import type { Package } from '@/lib/platform'
import { readAmount } from './amount'
import type { DepositOptions } from './api'

export interface Outcome {
  packageNow: string
  packageAfter: string | null
  rateAfter: Decimal | null
  cashInAfter: Decimal | null
}

function named(packages: Package[], value: Decimal): Package | null {
  return packages.find((option) => toCents(option.value) === toCents(value)) ?? null
}

/** What the account would hold if this amount were approved; nulls while there is no usable amount. */
export function outcomeOf(amount: Decimal | null, options: DepositOptions, packages: Package[]): Outcome {
  const present = named(packages, options.package_value)
  const packageNow =
    present?.label ?? (toCents(options.package_value) > 0n ? formatMoney(options.package_value) : 'None')
  const meaning = amount === null ? null : readAmount(amount, packages, options)
  if (amount === null || meaning === null || meaning.kind === 'refused') {
    return { packageNow, packageAfter: null, rateAfter: null, cashInAfter: null }
  }
  const after = meaning.kind === 'cash-in' ? present : meaning.package
  return {
    packageNow,
    packageAfter: after?.label ?? packageNow,
    rateAfter: after ? fromCents(toCents(after.rate)) : null,
    cashInAfter: add(options.verification.cashInAmount, amount),
  }
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-4 border-b py-2.5 text-compact">
      <dt className="text-muted-foreground">{name}</dt>
      <dd className="text-right font-semibold">{children}</dd>
    </div>
  )
}

/** What this deposit does, beside the form from 1024 px. */
export function ThisDeposit({ amount, outcome }: { amount: Decimal | null; outcome: Outcome }) {
  return (
    <section aria-labelledby="this-deposit" className="card-box max-lg:hidden">
      <h2 id="this-deposit" className="text-section">
        This deposit
      </h2>
      <dl className="mt-1">
        <Row name="Package now">{outcome.packageNow}</Row>
        <Row name="Package after">{outcome.packageAfter ?? <Money value={null} />}</Row>
        <Row name="Pairing rate after">
          <Percent value={outcome.rateAfter} />
        </Row>
        <Row name="Cash-in after approval">
          <Money value={outcome.cashInAfter} />
        </Row>
        <div className="-mt-px flex items-baseline justify-between gap-4 border-t border-input pt-3">
          <dt className="font-semibold">Amount</dt>
          <dd>
            <Money value={amount} size="figure" />
          </dd>
        </div>
      </dl>
    </section>
  )
}

/** What a deposit leaves alone; null while the balance is not known. */
export function BalanceNote({ balance }: { balance: Decimal | null }) {
  return (
    <section aria-label="Balance" className="card-box max-lg:hidden">
      <p className="text-compact text-muted-foreground">Withdrawable balance</p>
      <p className="border-b pb-2">
        <Money value={balance} size="figure" />
      </p>
      <p className="pt-2 text-compact text-muted-foreground">
        Deposits are not added to it. Only bonuses can be withdrawn.
      </p>
    </section>
  )
}

/** Where the money goes. */
export function PayTo({ options }: { options: DepositOptions }) {
  if (!options.deposit_address) return null
  return (
    <section aria-label="Pay to" className="card-box max-lg:hidden">
      <p className="text-compact text-muted-foreground">
        {options.deposit_address_sample ? 'Pay to, sample' : 'Pay to'}
      </p>
      <Address
        value={options.deposit_address}
        short
        copy
        what="deposit address"
        className="flex justify-between"
      />
    </section>
  )
}
