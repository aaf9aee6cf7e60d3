import { useId, type ReactNode } from 'react'
import { CopyButton } from '@/components/copy-button'
import { ErrorSummary, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import { groupedAddress } from '@/lib/address'
import type { DepositRest } from '@/lib/deposit-rest'
import { errorText, unreachableText } from '@/lib/errors'
import { formatMoney } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import { useOnline } from '@/lib/use-online'
import { z } from '@/lib/zod'
import { useAddReference, type DepositOptions, type PendingDeposit } from './api'
import { SampleStrip } from './deposit-address'
import { referenceRule } from './deposit-schema'
import { ReferenceField } from './reference-field'

const schema = z.object({ reference: referenceRule })

interface RestFormProps {
  deposit: PendingDeposit
  rest: DepositRest
  options: DepositOptions
  /** The server has the reference, and the page shows so. */
  onAdded: () => void
}

/** What is missing of a deposit: how much to send, where to, and by which transfer it was sent. */
export function RestForm({ deposit, rest, options, onAdded }: RestFormProps) {
  const form = useAppForm(schema, { reference: '' })
  const add = useAddReference()
  const online = useOnline()
  const offline = useId()

  async function send({ reference }: { reference: string }): Promise<void> {
    try {
      await add.mutateAsync({ id: deposit.id, reference })
    } catch (error) {
      form.setError('reference', { message: errorText(error, unreachableText) })
      form.setFocus('reference')
      return
    }
    toasts.success('The reference of the rest was received', { money: true })
    onAdded()
  }

  return (
    <form
      noValidate
      aria-label={`Rest of the deposit of ${formatMoney(deposit.amount)}`}
      className="flex flex-col gap-5"
      onSubmit={(event) => void form.handleSubmit(send)(event)}
    >
      <ErrorSummary form={form} />
      <WhereTo rest={rest} options={options} />
      <ReferenceField form={form} name="reference" label="Reference of the rest" />
      <div className="flex flex-wrap items-center gap-4">
        <Button
          type="submit"
          className="max-sm:w-full"
          busy={add.isPending && 'Adding...'}
          aria-disabled={!online}
          aria-describedby={online ? undefined : offline}
        >
          Add reference
        </Button>
        {online ? null : (
          <span id={offline} className="text-compact text-warning">
            You are offline.
          </span>
        )}
      </div>
    </form>
  )
}

function Row({
  label,
  text,
  what,
  children,
}: {
  label: string
  text: string
  what: string
  children: ReactNode
}) {
  return (
    <div className="grid items-center gap-x-4 border-t py-3 last:border-b sm:grid-cols-[1fr_auto]">
      <dt className="text-compact text-muted-foreground">{label}</dt>
      <dd className="min-w-0">{children}</dd>
      <dd className="max-sm:mt-2 sm:col-start-2 sm:row-span-2 sm:row-start-1">
        <CopyButton text={text} what={what}>
          {`Copy ${what}`}
        </CopyButton>
      </dd>
    </div>
  )
}

function WhereTo({ rest, options }: Pick<RestFormProps, 'rest' | 'options'>) {
  const { deposit_address: address, deposit_address_sample: isSample } = options
  if (!address) {
    return (
      <p>
        The deposit address is not shown while deposits are closed. If you have sent the rest, add its
        reference.
      </p>
    )
  }
  return (
    <div>
      {isSample ? <SampleStrip /> : null}
      <dl>
        <Row label="Amount to send" text={rest.missing} what="amount">
          <span className="tabular font-semibold">{formatMoney(rest.missing).slice(1)} USDT</span>
        </Row>
        <Row label="USDT deposit address, TRC20" text={address} what="address">
          <span className="font-mono break-words">{groupedAddress(address)}</span>
        </Row>
      </dl>
      <p className="mt-2 text-caption text-muted-foreground">
        Compare the first 6 and last 4 after pasting. The network fee is about 1-2 USDT. The full amount must
        arrive.
      </p>
    </div>
  )
}
