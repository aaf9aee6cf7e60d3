import type { Balance } from '@/lib/member'
import { compare, formatMoney, fractionOf, type Decimal } from '@/lib/money'
import { Gauge, type GaugeMark } from './gauge'

interface BalanceGaugeProps {
  balance: Pick<Balance, 'available' | 'reserved' | 'requestable'>
  minimum: Decimal
  valueText: string
}

// The share of the line up to which the label of the minimum leaves room for the one of the balance on a narrow phone.
const roomRight = 0.62

function marksOf(available: Decimal, minimum: Decimal, end: Decimal): GaugeMark[] {
  const at = fractionOf(minimum, end)
  const minimumLabel = `${formatMoney(minimum)} minimum`
  const zero = { at: 0, label: formatMoney('0'), yields: true }
  if (compare(available, minimum) <= 0) return [zero, { at: 1, label: minimumLabel }]
  return [
    zero,
    { at, label: minimumLabel },
    { at: 1, label: at < roomRight ? formatMoney(available) : undefined },
  ]
}

/** The balance on the line: what can be requested, what is reserved (hatched), where the minimum stands. */
export function BalanceGauge({ balance, minimum, valueText }: BalanceGaugeProps) {
  const end = compare(balance.available, minimum) > 0 ? balance.available : minimum
  return (
    <Gauge
      label="Withdrawable balance"
      valueText={valueText}
      value={fractionOf(balance.requestable, end)}
      reserved={fractionOf(balance.reserved, end)}
      max={1}
      ticks={28}
      marks={marksOf(balance.available, minimum, end)}
    />
  )
}
